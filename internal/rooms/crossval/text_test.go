package crossval

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// result returns a table of a measured set, a generated one in place of a file, and one
// with real targets and no published errors.
func result() *Result {
	lambdas := []float64{0.1, 1e-3}
	model := func(name string, real bool, a, b float64, paper map[string]Reference) ModelError {
		return summarize(name, []Shuffle{
			{Seed: 1, Lambda: 0.1, Error: a, Lambdas: lambdas, Validation: []float64{a, b}},
			{Seed: 2, Lambda: 1e-3, Error: b, Lambdas: lambdas, Validation: []float64{b + 1, b}},
		}, paper)
	}
	paper := map[string]Reference{Global: {2.23, 0.3}, Local: {1.34, 0.21}, MTL: {0.46, 0.11}}
	columns := []Column{
		{Label: "Human Activity", Source: "uci-har har.zip", Tasks: 30},
		{Label: "Glass | eating", Source: "generated, with the sizes of google-glass, in place of csv g.csv, which was not found", Generated: true, Tasks: 38},
		{Label: "Sarcos", Source: "csv s.csv", Tasks: 7, Real: true},
	}
	for i, errors := range [][]float64{{2.25, 2.75, 1, 1.25, 0.25, 0.5}, {5, 6, 4, 5, 12, 13}, {0.125, 0.25, 0.0625, 0.03125, 0.5, 0.75}} {
		if columns[i].Real {
			paper = nil
		}
		for k, name := range Models() {
			columns[i].Models = append(columns[i].Models, model(name, columns[i].Real, errors[2*k], errors[2*k+1], paper))
		}
	}
	config := Defaults()
	config.Shuffles, config.Title, config.Lambdas = 2, "average_error", []float64{1e-3, 0.1}
	return &Result{Name: "t1", Config: config, Columns: columns}
}

func TestRendering(t *testing.T) {
	r := result()
	for _, file := range append(r.Files(), File{"t1.txt", func(w io.Writer) error { _, err := io.WriteString(w, r.Text(80)); return err }}) {
		var b bytes.Buffer
		if err := file.Write(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", file.Name)
		if *update {
			filetest.Write(t, path, b.Bytes())
		}
		want := filetest.Read(t, path)
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// One shuffle has no standard error: no parentheses in the text, an empty cell in the csv.
func TestRenderingOfOneShuffle(t *testing.T) {
	r := &Result{Name: "one", Config: Defaults(), Columns: []Column{{Label: "s", Source: "generated", Generated: true, Tasks: 2}}}
	r.Shuffles, r.Models = 1, []string{MTL}
	r.Columns[0].Models = []ModelError{summarize(MTL, []Shuffle{{Seed: 1, Lambda: 1, Error: 1.0 / 3, Lambdas: []float64{1}, Validation: []float64{2}}}, nil)}
	const want = `one
Mean over tasks of the error on test rows, one shuffle. Lambda is chosen by
5-fold cross-validation on the training rows.

           s (generated), %
  model    fedsim  paper
  ----------------------
  MTL        0.33

s: generated; 2 tasks
`
	if diff := cmp.Diff(want, r.Text(80)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	if err := r.writeSummary(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if mean, err := strconv.ParseFloat(rows[1][5], 64); err != nil || mean != 1.0/3 || rows[1][6] != "" || !math.IsNaN(r.Columns[0].Models[0].StandardError) {
		t.Errorf("row %q: the mean must read back to the same bits, and NaN must be empty", rows[1])
	}
}
