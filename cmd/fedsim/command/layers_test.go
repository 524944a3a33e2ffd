package command

import (
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists the packages of fedsim that each package may import. docs/architecture.md
// gives the reasons.
var layers = map[string]string{
	"internal/atomicfile":        "",
	"internal/checkpoint":        "internal/state",
	"internal/child":             "internal/pipe internal/quote",
	"internal/invariants":        "",
	"internal/npy":               "",
	"internal/elementary":        "",
	"internal/hugepage":          "",
	"internal/input":             "",
	"internal/pipe":              "internal/quote",
	"internal/quote":             "",
	"internal/kernel":            "internal/rng",
	"internal/lognormal":         "internal/elementary",
	"internal/linalg":            "internal/elementary internal/kernel",
	"internal/parallel":          "",
	"internal/rng":               "internal/elementary",
	"internal/state":             "",
	"internal/licenses":          "",
	"config":                     "internal/quote",
	"engine":                     "internal/invariants",
	"internal/registry":          "config",
	"devices":                    "config engine internal/input internal/invariants internal/lognormal internal/registry internal/rng",
	"network":                    "config internal/flows engine internal/lognormal internal/registry internal/rng",
	"devices/fleets":             "config devices network internal/elementary internal/input internal/lognormal internal/rng internal/columns",
	"internal/flows":             "config engine",
	"internal/traces":            "config engine internal/columns internal/elementary internal/input internal/lognormal internal/quote internal/rng",
	"data":                       "config internal/columns internal/elementary internal/hugepage internal/input internal/kernel internal/npy internal/quote internal/registry internal/rng internal/state",
	"data/parquet":               "data internal/input internal/quote",
	"mtl":                        "config data internal/elementary internal/input internal/invariants internal/kernel internal/linalg internal/parallel internal/quote internal/registry internal/rng internal/state",
	"internal/crossval":          "config data mtl internal/checkpoint internal/columns internal/kernel internal/parallel internal/state",
	"algorithms":                 "algorithms/compress algorithms/privacy config data mtl internal/elementary internal/kernel internal/parallel internal/registry internal/rng internal/state",
	"algorithms/compress":        "config internal/kernel internal/rng",
	"algorithms/privacy":         "config internal/elementary internal/rng internal/state",
	"internal/external":          "algorithms config internal/child internal/pipe internal/quote mtl",
	"internal/learnercheck":      "algorithms internal/external internal/quote internal/rng internal/state",
	"results":                    "config internal/columns internal/state",
	"results/rundir":             "config internal/atomicfile internal/input internal/npy internal/quote internal/state results",
	"plots":                      "results internal/atomicfile",
	"internal/analysis/compare":  "config results results/rundir internal/columns internal/rng",
	"internal/analysis/fairness": "results internal/columns",
	"clients":                    "config devices devices/fleets engine network internal/flows",
	"internal/replay":            "algorithms mtl internal/rng internal/state",
	"federation":                 "algorithms algorithms/compress algorithms/privacy clients config data devices devices/fleets engine mtl network results internal/elementary internal/parallel internal/registry internal/replay internal/rng internal/state",
	"internal/analysis/timeline": "clients engine federation",
	"internal/analysis/ledger":   "clients engine federation results",
	"scenarios":                  "config",
	"experiment/scenario":        "algorithms algorithms/compress internal/external algorithms/privacy config data devices federation devices/fleets mtl network results results/rundir internal/crossval internal/traces internal/elementary internal/input internal/rng scenarios",
	"internal/analysis/explain":  "devices federation network results results/rundir experiment/scenario internal/columns",
	"internal/report":            "internal/analysis/explain internal/analysis/fairness plots results results/rundir experiment/scenario internal/input",
	"internal/report/serve":      "internal/clusters/work internal/report results results/rundir",
	"internal/theory":            "mtl internal/elementary internal/kernel internal/linalg",
	"experiment":                 "internal/theory algorithms internal/external config data devices engine federation internal/analysis/ledger mtl network results experiment/scenario internal/traces internal/checkpoint internal/elementary internal/parallel internal/replay internal/rng internal/state",
	"experiment/into":            "config experiment internal/checkpoint internal/crossval internal/quote plots results results/rundir experiment/scenario",
	"internal/clusters/submit":   "config internal/clusters/plan internal/clusters/work internal/child internal/input internal/quote",
	"internal/clusters/plan":     "config experiment internal/atomicfile internal/input internal/crossval results/rundir experiment/scenario",
	"internal/clusters/work":     "experiment internal/clusters/plan internal/atomicfile internal/input internal/quote internal/crossval results results/rundir experiment/scenario",
	"internal/driven":            "internal/analysis/ledger clients engine experiment federation internal/checkpoint internal/pipe internal/quote internal/state results experiment/scenario",
}

func TestImportsRunDownwards(t *testing.T) {
	for name, allowed := range layers {
		files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("package %s has no files (%v)", name, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range parsed.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				ours, ok := strings.CutPrefix(path, "fedsim/")
				if ok && !strings.Contains(" "+allowed+" ", " "+ours+" ") {
					t.Errorf("%s imports %s: %s may import %q", file, ours, name, allowed)
				}
			}
		}
	}
}

// A program that links the simulator, the clients or the figures without the command gets no
// parquet, no file locks and no protobuf.
func TestPackagesLinkNoFileFormats(t *testing.T) {
	refused := []string{"parquet", "flock", "protobuf", "fedsim/results/rundir"}
	for _, root := range []string{"fedsim/federation", "fedsim/plots", "fedsim/clients"} {
		out, err := exec.Command("go", "list", "-deps", root).Output()
		if err != nil {
			t.Fatal(err)
		}
		for path := range strings.FieldsSeq(string(out)) {
			if slices.ContainsFunc(refused, func(name string) bool { return strings.Contains(path, name) }) {
				t.Errorf("%s imports %s", root, path)
			}
		}
	}
}
