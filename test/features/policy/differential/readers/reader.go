// How servers in Go read a URI: a JSON text a line in, a JSON object of what they would open a line out.
package main

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"path"
	"strings"
)

type reading struct {
	Paths     []string    `json:"paths"`
	Addresses [][2]string `json:"addresses"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var uri string
		if json.Unmarshal(in.Bytes(), &uri) != nil {
			uri = ""
		}
		text, _ := json.Marshal(read(uri))
		out.Write(append(text, '\n'))
	}
}

func read(uri string) reading {
	found := reading{Paths: []string{}, Addresses: [][2]string{}}
	add := func(p string) {
		if p == "" {
			return
		}
		if at := strings.IndexByte(p, 0); at >= 0 {
			p = p[:at]
		}
		found.Paths = append(found.Paths, path.Clean("/"+p))
	}
	if u, err := url.Parse(uri); err == nil {
		switch u.Scheme {
		case "file":
			add(u.Path)
			add(u.EscapedPath())
			add(u.Opaque)
			add(u.JoinPath().Path)
			for _, p := range []string{u.Path, u.Opaque} {
				if again, err := url.PathUnescape(p); err == nil {
					add(again)
				}
			}
		case "http", "https":
			host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
			if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
				break
			}
			found.Addresses = append(found.Addresses, [2]string{host, path.Clean("/" + u.Path)})
		}
	}
	if rest := strings.TrimPrefix(uri, "file://"); rest != uri {
		add(rest)
		if again, err := url.PathUnescape(rest); err == nil {
			add(again)
		}
	}
	return found
}
