package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/devices/fleets"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/filetest"
)

// TestFleetsPage runs the commands of docs/fleets.md and reads its files. The page explains
// every fleet and every key.
func TestFleetsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the page's commands one by one")
	}
	t.Parallel()
	page := read(t, "docs/fleets.md")
	dir := t.TempDir()
	ran := runLines(t, dir, blocks(page, "sh"))
	files := blocks(page, "toml")
	tables := blocks(page, "csv")
	if ran < 5 || len(files) != 3 || len(tables) != 1 {
		t.Fatalf("the page has %d commands, %d TOML files and %d csv files: must have 5, 3 and 1", ran, len(files), len(tables))
	}
	for name, text := range map[string]string{"page.toml": files[1], "page.csv": tables[0]} {
		path := filepath.Join(dir, name)
		filetest.Write(t, path, text)
		if f, err := fleets.Read(path); err != nil || len(f.Classes) != 2 {
			t.Errorf("%s: %+v (%v)", name, f, err)
		}
	}
	for _, text := range []string{files[0], files[2]} {
		if _, err := scenario.Parse("page", []byte("name = \"page\"\n"+text+"[methods.fedavg]\n"), nil); err != nil {
			t.Error(err)
		}
	}
	for _, name := range fleets.Names() {
		if !strings.Contains(page, fmt.Sprintf("| `%s` |", name)) {
			t.Errorf("the page does not explain the fleet %s", name)
		}
	}
	for _, f := range config.Fields(&fleets.Class{}) {
		if !strings.Contains(page, "`"+f.Key+"`") {
			t.Errorf("the page does not explain the key %s", f.Key)
		}
	}
}
