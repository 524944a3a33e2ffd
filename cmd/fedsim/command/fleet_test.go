package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/devices/fleets"
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
	ran := 0
	for _, block := range blocks(page, "sh") {
		for line := range strings.Lines(block) {
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s%v\n%s", line, err, out)
			}
			ran++
		}
	}
	files := blocks(page, "toml")
	tables := blocks(page, "csv")
	if ran < 5 || len(files) != 2 || len(tables) != 1 {
		t.Fatalf("the page has %d commands, %d TOML files and %d csv files: must have 5, 2 and 1", ran, len(files), len(tables))
	}
	for name, text := range map[string]string{"page.toml": files[1], "page.csv": tables[0]} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if f, err := fleets.Read(path); err != nil || len(f.Classes) != 2 {
			t.Errorf("%s: %+v (%v)", name, f, err)
		}
	}
	var scenario struct {
		Fleet fleets.Config `toml:"fleet"`
	}
	scenario.Fleet = fleets.Defaults()
	root, err := config.Parse("page", []byte(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	if problems := config.Decode(root, "", &scenario); len(problems) > 0 {
		t.Error(problems)
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
