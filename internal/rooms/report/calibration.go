package report

import (
	"bytes"
	"html/template"
	"io"
	"strings"

	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/tools/columns"
)

var calibrationLayout = template.Must(template.ParseFS(files, "page/calibration.html"))

// WriteCalibration writes the page of a calibration as one self-contained file without a script:
// its summary, its sections and its figures.
func WriteCalibration(w io.Writer, name string, summary []string, sections columns.Sections,
	figures []calibration.Figure) error {
	type figure struct {
		Name, Text string
		SVG        template.HTML
	}
	page := struct {
		Name     string
		Style    template.CSS
		Summary  []string
		Sections template.HTML
		Figures  []figure
	}{Name: name, Style: template.CSS(concatenated("page/style.css")), Summary: summary,
		Sections: template.HTML(sections.HTML())}
	for _, f := range figures {
		var svg bytes.Buffer
		if err := f.WriteSVG(&svg); err != nil {
			return err
		}
		// HTML has no XML declaration, and the names in the drawing are escaped.
		_, drawing, _ := strings.Cut(svg.String(), "?>")
		page.Figures = append(page.Figures, figure{f.Name, f.Text, template.HTML(drawing)})
	}
	return calibrationLayout.Execute(w, page)
}
