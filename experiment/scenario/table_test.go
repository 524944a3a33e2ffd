package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/data"
	"fedsim/internal/rooms/crossval"
)

const twoTables = `
[data]
bias = true
standardize = true

[[table]]
name = "a"
shuffles = 3
lambdas = [1, 0.1]

[[table.set]]
label = "file"
data = { source = "uci-har", path = "har.zip", positive_class = "WALKING", bias = false }
fallback = { preset = "human-activity", "synthetic.clients" = 4 }
paper = { mtl = [0.5, 0.1] }

[[table.set]]
label = "generated"
data.synthetic.clients = 5

[[table]]
name = "b"
[[table.set]]
label = "generated"
`

func TestTables(t *testing.T) {
	s := parse(t, twoTables)
	if len(s.Experiments) != 0 || len(s.Tables) != 2 {
		t.Fatalf("%d experiments and %d tables, want 0 and 2: nothing is run without a method", len(s.Experiments), len(s.Tables))
	}
	a := s.Tables[0]
	if a.Name != "a" || a.Shuffles != 3 || !cmp.Equal(a.Lambdas, []float64{1, 0.1}) || a.Folds != crossval.Defaults().Folds {
		t.Errorf("table %+v: keys that are set must count, others be defaults", a.Config)
	}
	file := a.Sets[0]
	if d := file.Data; d.Source != data.SourceHAR || d.Path != "har.zip" || d.PositiveClass != "WALKING" || d.Bias || !d.Standardize {
		t.Errorf("data of a file: %+v", d)
	}
	if d := file.Fallback; d == nil || d.Source != data.SourceSynthetic || d.Path != "" || d.PositiveClass != "" ||
		d.Preset != "human-activity" || d.Synthetic.Clients != 4 || d.Bias || !d.Standardize {
		t.Errorf("the stand-in must share all but what belongs to the file: %+v", d)
	}
	if want := (crossval.Reference{Mean: 0.5, StandardError: 0.1}); file.Paper[crossval.MTL] != want || len(file.Paper) != 1 {
		t.Errorf("published figures %v, want %v for mtl alone", file.Paper, want)
	}
	if g := a.Sets[1]; g.Fallback != nil || g.Data.Synthetic.Clients != 5 || !g.Data.Bias {
		t.Errorf("generated set %+v", g)
	}
	if len(s.Tables[1].Sets) != 1 {
		t.Errorf("%d sets in the second table, want 1", len(s.Tables[1].Sets))
	}
}

func TestTableBesideExperiments(t *testing.T) {
	s := parse(t, mocha+twoTables)
	if len(s.Experiments) != 1 || len(s.Tables) != 2 {
		t.Errorf("%d experiments and %d tables, want 1 and 2", len(s.Experiments), len(s.Tables))
	}
	resolveAgain(t, s)
}

func TestTablesResolve(t *testing.T) { resolveAgain(t, parse(t, twoTables)) }

func TestTableOverrides(t *testing.T) {
	s := parse(t, twoTables, "table.a.shuffles=7", `table.a.set=["file"]`, "data.bias=true", "data.synthetic.clients=9", "problem.loss=logistic")
	if s.Tables[0].Shuffles != 7 || s.Tables[1].Shuffles != 10 {
		t.Errorf("shuffles %d and %d, want 7 and 10", s.Tables[0].Shuffles, s.Tables[1].Shuffles)
	}
	if sets := s.Tables[0].Sets; len(sets) != 1 || sets[0].Label != "file" {
		t.Fatalf("sets %+v, want file alone", sets)
	}
	// An override replaces a value of a set.
	file := s.Tables[0].Sets[0]
	if !file.Data.Bias || !file.Fallback.Bias || file.Fallback.Synthetic.Clients != 9 || s.Tables[1].Sets[0].Data.Synthetic.Clients != 9 {
		t.Errorf("overrides of [data] must reach every set: %+v", file)
	}
	if s.Settings.Problem.Loss != "logistic" {
		t.Errorf("loss %q, want logistic", s.Settings.Problem.Loss)
	}
	resolveAgain(t, s)
	resolveAgain(t, parse(t, twoTables, "table.a.set=generated"))
}

func TestTableErrors(t *testing.T) {
	const head = "[[table]]\nname = \"a\"\n"
	const set = "[[table.set]]\nlabel = \"s\"\n"
	for _, test := range []struct {
		name, source string
		set          []string
		want         string
	}{
		{"not a list", "[table]\nname = \"a\"\n", nil, "x.toml:1:1: table: is a table: must be a list of tables"},
		{"unknown key", head + "fold = 3\n" + set, nil, "x.toml:3:1: unknown key table[0].fold: did you mean folds?"},
		{"unknown key of a set", head + set + "dat = {}\n", nil, "x.toml:5:1: unknown key table[0].set[0].dat: did you mean data?"},
		{"unknown key of the data", head + set + "data.pat = \"x\"\n", nil, "x.toml:5:1: unknown key data.pat: did you mean path?"},
		{"no name", "[[table]]\n" + set, nil, `x.toml:1:1: table[0].name = "": must consist of…`},
		{"a name twice", head + set + head + set, nil, `x.toml:6:8: table[1].name = "a": must name every table once`},
		{"no set", head, nil, "x.toml:1:1: table[0].set: must hold at least one data set: [[table.set]]"},
		{"no label", head + "[[table.set]]\n", nil, `x.toml:3:1: table[0].set[0].label = "": must name the data set`},
		{"a label twice", head + set + set, nil, `x.toml:6:9: table[0].set[1].label = "s": must name every data set of a table once`},
		{"all that is wrong", head + "shuffles = 0\nfolds = 1\nlambdas = [1, 1, 0]\nmodels = [\"locl\"]\ngap = 0\nfold_gap = 2\nomega_updates = -1\nsweeps = 0\n" + set, nil,
			`x.toml:6:10: table[0].models = "locl": must be one of global, local, mtl (did you mean "local"?)
x.toml:3:12: table[0].shuffles = 0: must be in [1, 10000]
x.toml:4:9: table[0].folds = 1: must be in [2, 1000]
x.toml:5:11: table[0].lambdas = [1.0, 1.0, 0.0]: must not have a value twice
x.toml:5:11: table[0].lambdas = [1.0, 1.0, 0.0]: must be in [1e-12, 1e12]
x.toml:9:17: table[0].omega_updates = -1: must be in [0, 1000]
x.toml:7:7: table[0].gap = 0: must be in [1e-9, 1]
x.toml:8:12: table[0].fold_gap = 2: must be in [1e-9, 1]
x.toml:10:10: table[0].sweeps = 0: must be at least 1`},
		{"figures of no model", head + set + "paper = { mlt = [1, 2] }\n", nil,
			`x.toml:5:9: table[0].set[0].paper = "mlt": must be one of global, local, mtl (did you mean "mtl"?)`},
		{"a mean alone", head + set + "paper = { mtl = [1] }\n", nil,
			"x.toml:5:17: table[0].set[0].paper.mtl = [1.0]: must be a mean and its standard error"},
		{"a stand-in that is wrong", head + set + "data = { source = \"uci-har\", path = \"h\" }\nfallback = { preset = \"human\" }\n", nil,
			`x.toml:6:23: data.preset = "human": must be one of human-activity, google-glass, vehicle-sensor, mnist-sized`},
		{"nothing held out", "[data]\ntest_fraction = 0\n" + head + set, nil,
			"x.toml:2:17: data.test_fraction = 0: must be above 0 in a table: its errors are measured on test rows"},
		{"devices", "[data]\nclients_per_task = 2\n" + head + set, nil,
			"x.toml:2:20: data.clients_per_task = 2: must be 1 in a table, which has no rounds"},
		{"pooled tasks", "[data]\npool = true\n" + head + set, nil,
			`x.toml:2:8: data.pool = true: must be false in a table: its model "global" already uses all tasks`},
		{"no lambda to choose", "[problem]\nregularizer = \"mean\"\n" + head + set, nil,
			`x.toml:2:15: problem.regularizer = "mean": must be a regularizer with a strength lambda that couples tasks, such as "probabilistic", for the model "mtl" of a table`},
		{"a network", "[problem]\nmodel = \"mlp\"\nhidden = [4]\n" + head + set, nil,
			`x.toml:2:9: problem.model = "mlp": must be "linear" in a table: its models are solved centrally`},
		{"a loss for labels on real targets", "[data]\ntarget = \"real\"\n" + head + set, nil,
			`x.toml:2:10: data.target = "real": needs a problem.loss…`},
		{"nothing to sweep", head + set + "[sweep]\n\"problem.lambda\" = [1]\n", nil,
			"x.toml:5:1: sweep has no effect without methods: tables are not swept"},
		{"no such table", head + set, []string{"table.b.folds=3"}, "--set table.b.folds=3: unknown table b: known are a"},
		{"a table without a key", head + set, []string{"table.a=3"}, "--set table.a=3: must name a table and one of its keys…"},
		{"no such set", head + set, []string{"table.a.set=t"}, "--set table.a.set=t: unknown data set t: known are s"},
		{"a key of a set", head + set, []string{"table.a.set.label=t"}, `--set table.a.set.label=t: must hold the labels of data sets: table.<name>.set=["label"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("x.toml", []byte(test.source), test.set)
			if err == nil {
				t.Fatalf("accepted, want %q", test.want)
			}
			if !says(err, test.want) {
				t.Errorf("got\n%s\nwant\n%s", err, test.want)
			}
		})
	}
}
