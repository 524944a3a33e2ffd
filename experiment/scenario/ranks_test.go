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
	table := "[[table]]\nname = \"e-ranks\"\n[[table.set]]\nlabel = \"x\"\n[table.set.data]\nsource = \"synthetic\"\n"
	if _, err := Parse("x.toml", []byte(source+table), nil); err == nil || !strings.Contains(err.Error(), "rename the table") {
		t.Errorf("a table with the name of that of ranks: %v", err)
	}
}
