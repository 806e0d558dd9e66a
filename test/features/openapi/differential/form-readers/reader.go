// Reads queries, forms, multipart forms and JSON, one request a line, as servers in Go do, and prints what they find.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strings"
)

type request struct {
	Query       string `json:"query"`
	ContentType string `json:"contentType"`
	Body        string `json:"body"`
}

// What a server decodes: names are found in any case.
type decoded struct {
	Env    interface{} `json:"env"`
	Filter struct {
		Account interface{} `json:"account"`
	} `json:"filter"`
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(make([]byte, 1<<20), 64<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	for input.Scan() {
		var one request
		if err := json.Unmarshal(input.Bytes(), &one); err != nil {
			panic(err)
		}
		body, _ := base64.StdEncoding.DecodeString(one.Body)
		made, err := http.NewRequest("POST", "http://localhost/?"+one.Query, bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		made.Header.Set("Content-Type", one.ContentType)
		readings := []interface{}{made.URL.Query()}
		switch {
		case strings.HasPrefix(one.ContentType, "application/json"):
			var found decoded
			// A member of another type is passed over, and the rest is read all the same.
			json.Unmarshal(body, &found)
			readings = append(readings, map[string]interface{}{"(json)": []interface{}{
				map[string]interface{}{"env": found.Env, "filter": map[string]interface{}{"account": found.Filter.Account}},
			}})
		case strings.HasPrefix(one.ContentType, "multipart/"):
			made.ParseMultipartForm(1 << 20)
			if made.MultipartForm != nil {
				readings = append(readings, made.MultipartForm.Value)
			}
		default:
			made.ParseForm()
			readings = append(readings, made.PostForm)
		}
		encoder.Encode(readings)
	}
}
