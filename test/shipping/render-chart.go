// Renders a Helm chart as Helm does, as far as config/helm/cardea needs it: Go's text/template with the functions of sprig, and
// Helm's `toYaml` (as JSON, which YAML is). Reads { release, values, templates: { name: text } } as JSON from stdin, and writes
// the manifests to stdout. Run with GO111MODULE=off and Debian's golang-github-masterminds-sprig-dev.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"text/template"

	"github.com/Masterminds/sprig"
)

func main() {
	var input struct {
		Release   string
		Values    map[string]interface{}
		Templates map[string]string
	}
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	if err := decoder.Decode(&input); err != nil {
		fail(err)
	}
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	data := map[string]interface{}{
		"Release": map[string]interface{}{"Name": input.Release},
		"Values":  input.Values,
	}
	names := make([]string, 0, len(input.Templates))
	for name := range input.Templates {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		parsed, err := template.New(name).Funcs(functions).Option("missingkey=error").Parse(input.Templates[name])
		if err != nil {
			fail(err)
		}
		fmt.Println("---")
		if err := parsed.Execute(os.Stdout, data); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
