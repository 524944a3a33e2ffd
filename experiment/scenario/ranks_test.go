package scenario

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// Ranks need methods and seeds to compare.
func TestRanksNeedMethodsAndSeeds(t *testing.T) {
	const source = mocha + "[methods.cocoa]\n[run]\nseeds = [1, 2]\n[[experiment]]\nname = \"e\"\nranks = true\n"
	s := parse(t, source)
	expect.That(t, s.Experiments[0].Ranks, "the experiment has no ranks")
	for _, override := range []string{"run.seeds=[1]", `experiment.e.methods=["mocha"]`} {
		_, err := Parse("x.toml", []byte(source), []string{override})
		if err == nil ||
			!strings.Contains(err.Error(), "ranks must be false with fewer than two methods or two run.seeds") {
			t.Errorf("%s: %v", override, err)
		}
	}
	_, err := Parse("x.toml", []byte(source), []string{`run.seeds="until-certain"`, "run.targets.suboptimality=[0.1]"})
	const want = `ranks must be false with run.seeds = "until-certain"`
	expect.That(t, err != nil && strings.Contains(err.Error(), want),
		"with seeds until it is certain: %v", err)
	const table, ranks = "[[experiment]]\nname = \"e-ranks\"\ntable = {}\n",
		"[[experiment]]\nname = \"e\"\nranks = true\n"
	const methods = "[run]\nseeds = [1, 2]\n" + mocha + "[methods.cocoa]\n"
	for source, want := range map[string]string{
		methods + ranks + table: "experiment e-ranks: its table has the name of the ranks of experiment e: rename it",
		methods + table + ranks: "experiment e: its ranks have the name of the table of experiment e-ranks: rename it",
	} {
		_, err := Parse("x.toml", []byte(source), nil)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
	}
}
