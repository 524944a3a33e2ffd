package scenario

import (
	"fmt"
	"strings"

	"fedsim/config"
)

// ThirtyKey is one of the keys that make most scenarios.
type ThirtyKey struct {
	Key     string // as docs/scenarios.md has it
	Example string // a value in TOML
	Text    string // what it says
	set     bool   // a new scenario sets it
}

// ThirtyKeys are the keys of docs/thirty-keys.md and of new scenarios.
var ThirtyKeys = []ThirtyKey{
	{"data.source", `"csv"`, "where rows come from: left out, generated; or a file", false},
	{"data.path", `"patients.csv"`, "the file", false},
	{"data.client_column", `"patient"`, "its column with the client of a row; default: client", false},
	{"data.label_column", `"diagnosis"`, "its column with the target; default: label", false},
	{"data.target", `"classes"`, "binary, classes, or real numbers", true},
	{"data.partition.method", `"dirichlet"`, "how to divide a file without clients", false},
	{"data.partition.clients", `100`, "among how many", false},
	{"data.partition.alpha", `0.3`, "how different they are: small is very different", false},
	{"data.validation_fraction", `0.2`, "rows to tune and stop on, so that test rows stay untouched", false},
	{"problem.model", `"mlp"`, "linear, mlp, or external: yours, in Python", false},
	{"problem.loss", `"softmax"`, "left out: hinge where dual methods are compared", true},
	{"problem.regularizer", `"probabilistic"`, "how models of clients are related, for MOCHA and CoCoA", false},
	{"fleet.name", `"phones-2017"`, "fast and slow devices with their links", true},
	{"devices.flops_scale", `1e4`, "one FLOP stands for so many: a larger model", true},
	{"network.profile", `"lte"`, "links where no fleet sets them: wifi, lte, 3g, ble, ethernet", false},
	{"network.bytes_scale", `50`, "one byte stands for so many", true},
	{"faults.drop_probability", `0.1`, "a device drops out in a round; a list: each device its own", false},
	{"traces.availability.level", `"middle"`, "when devices are available: none, mild, middle, severe", false},
	{"federation.protocol", `"deadline"`, "when a round ends; left out: the method's own", false},
	{"federation.clients_per_round", `10`, "how many clients a round asks; left out: all", true},
	{"federation.deadline_s", `5`, "seconds of a round with a deadline", false},
	{"federation.selection", `"oort"`, "which clients a round asks", false},
	{"compression.up", `"top-k"`, "codec of updates", false},
	{"run.max_time_s", `60`, "virtual time that every method has", true},
	{"run.targets", `{ test_accuracy = [0.8] }`, "to which values time and bytes are told; left out: chosen", false},
	{"run.seeds", `[1, 2, 3, 4, 5]`, "repetitions; one is not enough to compare", true},
	{"methods.<label>.options.epochs", `3`, "local passes in a round", true},
	{"methods.<label>.options.step", `0.1`, "step size; tune it", true},
	{"experiment.sweep", `{ "faults.drop_probability" = [0, 0.3] }`, "values of any key to compare", false},
	{"experiment.tune", `{ fedavg = { "options.step" = [0.03, 0.1, 0.3] } }`, "values to tune", false},
}

// starterMethods are the methods of a new scenario.
var starterMethods = []string{"fedavg", "scaffold"}

// ShortStarter returns a new scenario with an experiment of a name: a line for each of the thirty keys. Those that it
// leaves out are comments. It panics unless config.IsName(name).
func ShortStarter(name string) []byte {
	if !config.IsName(name) {
		panic(fmt.Sprintf("scenarios: %q is no name", name))
	}
	var b strings.Builder
	b.WriteString("# fedsim run FILE runs it, fedsim check FILE checks it. Remove the # before a key to set it.\n" +
		"# Every other key: fedsim init --all, docs/scenarios.md\n")
	line := func(set bool, key, value, text string) {
		if !set {
			key = keyMark + key
		}
		fmt.Fprintf(&b, "%-47s # %s\n", key+" = "+value, text)
	}
	table := ""
	for _, k := range ThirtyKeys {
		key, inExperiment := strings.CutPrefix(k.Key, "experiment.")
		if inExperiment && table == "" {
			table = "\n[[experiment]]\nname = \"" + name + "\"\nfigure = {}\n"
			b.WriteString(table)
		}
		if _, option, of := strings.Cut(key, "<label>"); of {
			for _, method := range starterMethods {
				line(k.set, "methods."+method+option, k.Example, k.Text)
			}
			continue
		}
		line(k.set, key, k.Example, k.Text)
	}
	return []byte(b.String())
}
