package command

import (
	"path/filepath"
	"testing"

	"fedsim/devices/fleets"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// TestFleetsPage runs the commands of docs/time.md on fleets and reads its files.
func TestFleetsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the page's commands one by one")
	}
	t.Parallel()
	page := section(t, "docs/time.md", "## Fleets")
	dir := t.TempDir()
	ran := runLines(t, dir, blocks(page, "sh"))
	files := blocks(page, "toml")
	tables := blocks(page, "csv")
	expect.Must(t, ran >= 5 && len(files) == 3 && len(tables) == 1,
		"the page has %d commands, %d TOML files and %d csv files: must have 5, 3 and 1", ran, len(files), len(tables))
	for name, text := range map[string]string{"page.toml": files[1], "page.csv": tables[0]} {
		path := filepath.Join(dir, name)
		filetest.Write(t, path, text)
		f, err := fleets.Read(path)
		expect.That(t, err == nil && len(f.Classes) == 2, "%s: %+v (%v)", name, f, err)
	}
	for _, text := range []string{files[0], files[2]} {
		_, err := scenario.Parse("page", []byte("name = \"page\"\n"+text+"[methods.fedavg]\n"), nil)
		expect.That(t, err == nil, "%v", err)
	}
}
