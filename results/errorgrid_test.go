package results

import (
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// Two methods at two points under two seeds; a mean in percent and a published one beside it. At the second point
// nothing is published.
func TestErrorGrid(t *testing.T) {
	var runs []Run
	for i, errors := range [][2]float64{{0.1, 0.2}, {0.05, 0.07}, {0.3, 0.3}, {0.4, 0.5}} {
		for seed, e := range errors {
			r := Run{Experiment: "x", Method: []string{"a", "b"}[i%2], Seed: uint64(seed),
				Point: []Setting{{"data", []string{"one | two", "three"}[i/2]}}, Vary: VarySplit,
				Reporting: Reporting{MainMetric: "test_error_clients"}, Status: Done}
			round := Round{Round: 1, TestErrorClients: e, TestError: e / 2}
			r.Rounds = []Round{round}
			runs = append(runs, r)
		}
	}
	g := NewErrorGrid(runs,
		GridSpec{Name: "x", Title: "errors",
			Published: map[string]map[string]Estimate{"one | two": {"b": {Mean: 0.0223, SE: 0.003, N: 2}}}},
		[]string{"three: generated"})
	if c := g.Cells[0][0]; c.Error.N != 2 || math.Abs(c.Error.Mean-0.15) > 1e-15 || math.Abs(c.Error.SE-0.05) > 1e-15 ||
		c.Published.N != 0 || c.Metric != "test_error_clients" {
		t.Errorf("%+v", c)
	}
	files := Sections{g.Section()}.Files()
	if len(files) != 3 || files[0].Name != "x.csv" || files[1].Name != "x.md" || files[2].Name != "x.tex" {
		t.Fatalf("files %+v", files)
	}
	var csv, md, tex strings.Builder
	for i, to := range []*strings.Builder{&csv, &md, &tex} {
		if err := files[i].Write(to); err != nil {
			t.Fatal(err)
		}
	}
	if want := `b & \textbf{6.00 (1.00)} & 2.23 (0.30) & 45.00 (5.00) \\`; !strings.Contains(tex.String(), want) {
		t.Errorf("%q is missing in\n%s", want, tex.String())
	}
	for _, want := range []string{"### x: errors\n\n| method", "* errors at the end",
		`| method | one \| two: fedsim | published | three: fedsim |`, "| a | 15.00 (5.00) |  | **30.00 (0.00)** |",
		"| b | **6.00 (1.00)** | 2.23 (0.30) | 45.00 (5.00) |", "* three: generated\n"} {
		expect.That(t, strings.Contains(md.String(), want), "%q is missing in\n%s", want, md.String())
	}
	for _, want := range []string{"one | two,b,test_error_clients,0.06", ",2,0.0223,0.003\n",
		"three,a,test_error_clients,0.3,0,2,,\n"} {
		expect.That(t, strings.Contains(csv.String(), want), "%q is missing in\n%s", want, csv.String())
	}
	if text := (Sections{g.Section()}).Text(80); !strings.HasPrefix(text, "x: errors\n\n") ||
		!strings.Contains(text, "  errors at the end, test error") ||
		!strings.Contains(text, "  b          6.00 (1.00)  2.23 (0.30)") {
		t.Error(text)
	}
	if heads := (Sections{NewErrorGrid(runs[:2], GridSpec{Name: "y"}, nil).Section()}).
		Text(80); !strings.HasPrefix(heads, "y\n") || strings.Contains(heads, "published") {
		t.Error(heads)
	}
}
