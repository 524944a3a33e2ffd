package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
)

//go:embed page uplot
var files embed.FS

// scripts are the parts of the script of the page, in order.
var scripts = []string{
	"page/words.js", "page/columns.js", "page/lines.js", "page/colors.js", "page/chart.js", "page/tables.js",
	"page/curves.js", "page/sweep.js", "page/heat.js", "page/effects.js", "page/stragglers.js", "page/left.js", "page/energy.js",
	"page/plan.js", "page/sections.js", "page/page.js",
}

// page is the data of the template page.html.
type page struct {
	Title  string
	Policy string // Content-Security-Policy of a file; empty if it is sent as a header
	Style  template.CSS
	Script template.JS
	Data   template.JS // JSON; empty for a page that fetches the data
}

var layout = template.Must(template.ParseFS(files, "page/page.html"))

// Write writes the page of a report as one self-contained file.
func Write(w io.Writer, r *Report) error {
	var data bytes.Buffer
	if err := Encode(&data, r); err != nil {
		return err
	}
	p, policy := newPage()
	p.Title, p.Data = r.Name, template.JS(data.String())
	// Browsers ignore frame-ancestors outside of headers.
	p.Policy = policy + "; connect-src 'none'"
	return layout.Execute(w, p)
}

// Live writes the page without data and returns its Content-Security-Policy. Its script
// fetches the output of Encode from the relative URL "data", and again after each
// server-sent event "changed" from "events".
func Live(w io.Writer) (policy string, err error) {
	p, policy := newPage()
	p.Title = "fedsim"
	return policy + "; connect-src 'self'; frame-ancestors 'none'", layout.Execute(w, p)
}

// newPage returns the page with its style and script, and a policy that allows only these.
func newPage() (p page, policy string) {
	style := concatenated("uplot/uPlot.min.css", "page/style.css")
	script := "(() => {\n\"use strict\";\n" + concatenated(scripts...) + "})();\n"
	script = "/*! uPlot\n" + concatenated("uplot/LICENSE") + "\n*/\n" + concatenated("uplot/uPlot.iife.min.js") + script
	p = page{Style: template.CSS(style), Script: template.JS(script)}
	policy = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src " + hashed(script) + "; style-src " + hashed(style)
	return p, policy
}

func concatenated(names ...string) string {
	text := ""
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		text += string(b)
	}
	return text
}

// hashed returns the hash of a text for a Content-Security-Policy.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
