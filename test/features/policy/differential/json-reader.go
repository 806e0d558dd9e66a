// Reads requests, one a line, as a server written with encoding/json reads them, and prints what it would act on.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
)

type request struct {
	Method string `json:"method"`
	Params struct {
		Name      string                 `json:"name"`
		URI       string                 `json:"uri"`
		Arguments map[string]interface{} `json:"arguments"`
		Ref       struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
	} `json:"params"`
}

type reading struct {
	Method  string      `json:"method"`
	Name    string      `json:"name"`
	URI     string      `json:"uri"`
	RefName string      `json:"refName"`
	RefURI  string      `json:"refUri"`
	Env     interface{} `json:"env"`
	Odd     bool        `json:"odd"`
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(make([]byte, 1<<20), 64<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	for input.Scan() {
		var one request
		decoder := json.NewDecoder(bytes.NewReader(input.Bytes()))
		decoder.UseNumber()
		// A member of another type is passed over, and the rest is read all the same.
		err := decoder.Decode(&one)
		params := one.Params
		encoder.Encode(reading{
			one.Method, params.Name, params.URI, params.Ref.Name, params.Ref.URI, params.Arguments["env"], err != nil,
		})
	}
}
