package command

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// docs/thirty-keys.md has thirty keys, each of which a page of keys explains, and a valid scenario.
func TestThirtyKeysPage(t *testing.T) {
	t.Parallel()
	table := "| key | example | what it says |\n|---|---|---|\n"
	for _, k := range scenario.ThirtyKeys {
		table += "| `" + k.Key + "` | `" + k.Example + "` | " + k.Text + " |\n"
	}
	generatedBlocks(t, "docs/thirty-keys.md", "ThirtyKeysPage", map[string]string{"keys": table})
	page, keys := read(t, "docs/thirty-keys.md"), ""
	for _, path := range expect.Value(filepath.Glob(filepath.Join(root, "docs", "reference", "keys", "*.md")))(t) {
		keys += string(filetest.Read(t, path))
	}
	found := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(page, -1)
	for _, m := range found {
		if !strings.Contains(keys, "- `"+m[1]+"` (") {
			t.Errorf("no page of docs/reference/keys has %s", m[1])
		}
	}
	if len(found) != 30 {
		t.Errorf("the page has %d keys", len(found))
	}
	for _, block := range blocks(page, "toml") {
		if _, err := scenario.Parse("page", []byte("name = \"page\"\n"+block), nil); err != nil {
			t.Error(err)
		}
	}
}
