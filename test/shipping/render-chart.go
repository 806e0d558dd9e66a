// Renders a Helm chart as Helm does, as far as config/helm/cardea needs it: Go's text/template with the functions of sprig, and
// Helm's `toYaml`. Reads { release, appVersion, values, templates: { name: text } } as JSON from stdin, and writes
// the manifests to stdout. Run with GO111MODULE=off and Debian's golang-github-masterminds-sprig-dev.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
)

func main() {
	var input struct {
		Release    string
		AppVersion string
		Values     map[string]interface{}
		Templates  map[string]string
	}
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	if err := decoder.Decode(&input); err != nil {
		fail(err)
	}
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) string { return strings.Join(yamlLines(value), "\n") }
	data := map[string]interface{}{
		"Release": map[string]interface{}{"Name": input.Release},
		"Chart":   map[string]interface{}{"AppVersion": input.AppVersion},
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

// The lines of a value in block style: objects with sorted keys, scalars as JSON.
func yamlLines(value interface{}) []string {
	lines := []string{}
	switch value := value.(type) {
	case map[string]interface{}:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			lines = append(lines, nested(key+":", yamlLines(value[key]), isBlock(value[key]), "  ")...)
		}
	case []interface{}:
		for _, item := range value {
			lines = append(lines, nested("-", yamlLines(item), false, "  ")...)
		}
	}
	if len(lines) > 0 {
		return lines
	}
	text, _ := json.Marshal(value)
	return []string{string(text)}
}

// Whether a value takes more than the line of its key.
func isBlock(value interface{}) bool {
	switch value := value.(type) {
	case map[string]interface{}:
		return len(value) > 0
	case []interface{}:
		return len(value) > 0
	}
	return false
}

// `lines` behind `start`, or below it.
func nested(start string, lines []string, below bool, indent string) []string {
	result := []string{start}
	for at, line := range lines {
		if at == 0 && !below {
			result[0] += " " + line
		} else {
			result = append(result, indent+line)
		}
	}
	return result
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
