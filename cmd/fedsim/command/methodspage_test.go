package command

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// docs/methods.md has the abilities and the source of every method, the losses with their constants, and
// the selectors.
func TestMethodsPage(t *testing.T) {
	t.Parallel()
	methods := "| method | abilities | source |\n|---|---|---|\n"
	for _, name := range algorithms.Names() {
		f, _ := algorithms.Lookup(name)
		methods += fmt.Sprintf("| `%s` | %s | %s |\n", name, describeAbilities(f.Describe(f.Options(), mtl.Shape{})),
			f.Reference)
	}
	losses := "| `problem.loss` | loss(z, y) | conjugate loss\\*(-a) | finite where | L | mu |\n" +
		"|---|---|---|---|---|---|\n"
	number := func(x float64) string {
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")
	}
	for _, name := range mtl.ScoreLosses() {
		f, _ := mtl.LookupLoss(name)
		cfg := mtl.Defaults()
		traits := f.New(&cfg).Traits()
		losses += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |\n", name, f.Formula, f.Conjugate, f.Domain,
			number(traits.Lipschitz), cmp.Or(f.Mu, number(traits.Smoothness)))
	}
	selectors := "| selection | clients | source |\n|---|---|---|\n"
	for _, name := range federation.SelectorNames() {
		f, _ := federation.LookupSelector(name)
		selectors += fmt.Sprintf("| `%s` | %s | %s |\n", name, f.Summary, f.Reference)
	}
	generatedBlocks(t, "docs/methods.md", "MethodsPage",
		map[string]string{"sources of methods": methods, "losses": losses, "selectors": selectors})
}

// generatedBlocks compares blocks of a page, which stand between two comments, with what the code gives;
// -update-tutorial writes them. The comment before a block has its name and the test.
func generatedBlocks(t *testing.T, path, test string, want map[string]string) {
	t.Helper()
	text := read(t, path)
	page := text
	for name, block := range want {
		begin, end := "<!-- "+name+": go test ./cmd/fedsim/command -run "+test+" -update-tutorial -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(page, begin)
		_, after, closed := strings.Cut(rest, end)
		expect.Must(t, ok && closed, "%s has no place for the %s", path, name)
		page = before + begin + block + end + after
	}
	switch {
	case *updateTutorial:
		filetest.Write(t, filepath.Join(root, path), page)
	case page != text:
		t.Errorf("%s is out of date: run go test ./cmd/fedsim/command -run %s -update-tutorial", path, test)
	}
}
