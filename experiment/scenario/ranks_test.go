package scenario

import (
	"strings"
	"testing"
)

// Ranks need methods and seeds to compare.
func TestRanksNeedMethodsAndSeeds(t *testing.T) {
	const source = mocha + "[methods.cocoa]\n[run]\nseeds = [1, 2]\n[[experiment]]\nname = \"e\"\nranks = true\n"
	if s := parse(t, source); !s.Experiments[0].Ranks {
		t.Error("the experiment has no ranks")
	}
	for _, override := range []string{"run.seeds=[1]", `experiment.e.methods=["mocha"]`} {
		_, err := Parse("x.toml", []byte(source), []string{override})
		if err == nil || !strings.Contains(err.Error(), "ranks must be false with fewer than two methods or two run.seeds") {
			t.Errorf("%s: %v", override, err)
		}
	}
	const table, ranks = "[[experiment]]\nname = \"e-ranks\"\ntable = {}\n", "[[experiment]]\nname = \"e\"\nranks = true\n"
	const methods = "[run]\nseeds = [1, 2]\n" + mocha + "[methods.cocoa]\n"
	for source, want := range map[string]string{
		methods + ranks + table: "experiment e-ranks: its table has the name of the ranks of experiment e: rename it",
		methods + table + ranks: "experiment e: its ranks have the name of the table of experiment e-ranks: rename it",
	} {
		if _, err := Parse("x.toml", []byte(source), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
