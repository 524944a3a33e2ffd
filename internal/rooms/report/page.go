package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"

	"fedsim/internal/tools/plainjson"
)

//go:embed page uplot
var files embed.FS

// scripts are the parts of the script of the page, in order.
var scripts = []string{
	"page/words.js", "page/columns.js", "page/lines.js", "page/colors.js", "page/chart.js", "page/bars.js",
	"page/curves.js", "page/sweep.js", "page/heat.js", "page/effects.js", "page/stragglers.js", "page/left.js",
	"page/page.js",
}

// page is the data of the template page.html.
type page struct {
	Title  string
	Claim  string // what fedsim verify reads; empty while runs are absent
	Policy string // Content-Security-Policy of a file; empty if it is sent as a header
	Style  template.CSS
	Script template.JS
	Page   template.HTML
	Data   template.JS // JSON; empty for a page that fetches the data
}

var layout = template.Must(template.ParseFS(files, "page/page.html", "page/body.html"))

// Write writes the page of a report as one self-contained file.
func Write(w io.Writer, r *Report) error {
	var body, data bytes.Buffer
	if err := layout.ExecuteTemplate(&body, "body.html", r); err != nil {
		return err
	}
	if err := plainjson.Embed(&data, r); err != nil {
		return err
	}
	p, policy := newPage()
	p.Title, p.Claim, p.Page, p.Data = r.Name, r.claim, template.HTML(body.String()), template.JS(data.String())
	// Browsers ignore frame-ancestors outside of headers.
	p.Policy = policy + "; connect-src 'none'"
	return layout.Execute(w, p)
}

// Encode writes the report as JSON for a page that fetches it.
func Encode(w io.Writer, r *Report) error {
	var body bytes.Buffer
	if err := layout.ExecuteTemplate(&body, "body.html", r); err != nil {
		return err
	}
	whole := *r
	whole.Page = template.HTML(body.String())
	return plainjson.Embed(w, &whole)
}

// Live writes the page without data and returns its Content-Security-Policy. Its script
// fetches the output of Encode from the relative URL "data", and again after each
// server-sent event "changed" from "events".
func Live(w io.Writer) (policy string, err error) {
	p, policy := newPage()
	p.Title, p.Page = "fedsim", `<main id="main"><p id="note" role="status">Reading the results</p></main>`
	return policy + "; connect-src 'self'; frame-ancestors 'none'", layout.Execute(w, p)
}

// newPage returns the page with its style and script, and a policy that allows only these.
func newPage() (p page, policy string) {
	style := concatenated("uplot/uPlot.min.css", "page/style.css")
	script := "(() => {\n\"use strict\";\n" + concatenated(scripts...) + "})();\n"
	script = "/*! uPlot\n" + concatenated("uplot/LICENSE") + "\n*/\n" + concatenated("uplot/uPlot.iife.min.js") + script
	p = page{Style: template.CSS(style), Script: template.JS(script)}
	policy = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src " + hashed(script) +
		"; style-src " + hashed(style)
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
