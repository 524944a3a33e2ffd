package command

import (
	"bytes"
	"compress/gzip"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// indented returns the blocks of a page that are indented by four spaces.
func indented(page string) (found []string) {
	var block strings.Builder
	for line := range strings.Lines(page + "\nend\n") {
		text, ok := strings.CutPrefix(line, "    ")
		switch {
		case ok:
			block.WriteString(text)
		case line == "\n" && block.Len() > 0:
			block.WriteString(line)
		case block.Len() > 0:
			found = append(found, block.String())
			block.Reset()
		}
	}
	return found
}

// TestDataPage checks that the scenarios of docs/data.md are valid, and reads the csv file of
// the page as its scenario says.
func TestDataPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows, checked := 0, 0
	for _, block := range indented(read(t, "docs/data.md")) {
		file, source, found := strings.Cut("\n"+block, "\n[data]\n")
		if !found {
			continue
		}
		if file != "" { // the csv file, packed as the scenario names it
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			expect.Value(w.Write([]byte(strings.TrimSpace(file) + "\n")))(t)
			expect.NoError(t, w.Close())
			filetest.Write(t, filepath.Join(dir, "mine.csv.gz"), packed.Bytes())
		}
		name := filepath.Join(dir, "x.toml")
		filetest.Write(t, name, "[data]\n"+source)
		cfg, err := scenario.LoadData(name, nil)
		if err != nil {
			t.Errorf("%v:\n%s", err, source)
			continue
		}
		checked++
		if cfg.Source == data.SourceCSV {
			set := expect.Value(data.Load(cfg))(t)
			for i := range set.Clients {
				rows += set.Clients[i].X.Rows
			}
		}
	}
	expect.That(t, checked >= 4 && rows == 3, "%d scenarios, %d rows of csv", checked, rows)
}
