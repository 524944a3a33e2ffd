package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fedsim/config"
	"fedsim/internal/tools/expect"

	"fedsim/scenarios"
)

// compiled returns the schema as a library understands it, which checks it
// against the draft's own.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var text bytes.Buffer
	expect.NoError(t, WriteSchema(&text))
	value := expect.Value(jsonschema.UnmarshalJSON(&text))(t)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7) // so that it is $schema that says which one it is
	expect.NoError(t, compiler.AddResource("fedsim.json", value))
	s := expect.Value(compiler.Compile("fedsim.json"))(t)
	expect.Must(t, s.DraftVersion == 2020, "draft %d, must be 2020", s.DraftVersion)
	return s
}

// asJSON converts a scenario to what JSON decoders make of it.
func asJSON(t *testing.T, source []byte) any {
	t.Helper()
	root := expect.Value(config.Parse("x.toml", source))(t)
	text := expect.Value(json.Marshal(root.Value()))(t)
	value := expect.Value(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	return value
}

// Every shipped scenario passes, in its own form and with every default.
func TestSchemaTakesShippedScenarios(t *testing.T) {
	s := compiled(t)
	for _, info := range scenarios.Shipped() {
		source, _ := scenarios.Source(info.Name)
		err := s.Validate(asJSON(t, source))
		expect.That(t, err == nil, "%s: %v", info.Name, err)
		scenario := loaded(t, info.Name)
		resolved := resolvedOf(t, scenario)
		err = s.Validate(asJSON(t, resolved))
		expect.That(t, err == nil, "%s, resolved: %v", info.Name, err)
	}
}

// What Parse takes, written in uncommon ways.
func TestSchemaTakes(t *testing.T) {
	s := compiled(t)
	for name, source := range map[string]string{
		"an integer for a number":    "[problem]\nlambda = 1\n" + mocha,
		"an algorithm under a label": "[methods.mine]\nalgorithm = \"cocoa\"\noptions.theta = 0.5\n",
		"a label that is another's":  "[methods.mocha]\nalgorithm = \"cocoa\"\noptions.theta = 0.5\n",
		"a word for none":            "[fleet]\nname = \"none\"\n[methods.fedavg]\noptions.batch = \"all\"\n",
		"settings in nested tables": mocha +
			"[[experiment]]\nname = \"a\"\n[experiment.set]\nrun.rounds = 2\ndata.synthetic = { clients = 4 }\n",
		"settings in dotted keys": mocha + "[[experiment]]\nname = \"a\"\nset = { \"run.rounds\" = 2, " +
			"\"data.synthetic.clients\" = 4, \"methods.mocha.options.epochs\" = 2 }\n",
		"settings partly in both": mocha + "[[experiment]]\nname = \"a\"\n" +
			"set = { \"data.synthetic\" = { clients = 4 }, data = { \"synthetic.features\" = 3 } }\n",
		"a sweep of a method's option": mocha +
			"[[experiment]]\nname = \"a\"\nsweep = { \"methods.mocha.options.epochs\" = [1, 2] }\n",
		"a sweep of a list": "[sweep]\nfaults.never = [[], [0]]\n" + mocha,
		"a sample": mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 3\n" +
			"ranges.run.rounds = [1, 2, 3]\nranges.\"problem.lambda\" = { min = 1, max = 2.5, scale = \"log\" }\n" +
			"[experiment.sample.ranges.methods.mocha.options.epochs]\nmin = 1\nmax = 2\nwhole = true\n",
		"a tuning grid": mocha +
			"[[experiment]]\nname = \"a\"\n[experiment.tune.mocha]\noptions.epochs = [1, 2]\n",
		"a table": mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [1] }\n" +
			"table = { title = \"x\", published = { 1 = { mocha = [1, 0.5] } } }\n",
	} {
		if _, err := Parse("x.toml", []byte(source), nil); err != nil {
			t.Fatalf("%s: the example is wrong: %v", name, err)
		}
		if err := s.Validate(asJSON(t, []byte(source))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Parse also refuses the documents that the schema refuses.
func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	for _, c := range []struct{ name, source, at string }{
		{"unknown table", "[fault]\n" + mocha, "/"},
		{"unknown key", "[faults]\nNever = [0]\n" + mocha, "/faults"},
		{"unknown key of a nested table", "[data.synthetic]\ntask = 3\n" + mocha, "/data/synthetic"},
		{"text for a number", "[problem]\nlambda = \"much\"\n" + mocha, "/problem/lambda"},
		{"fraction for an integer", "[run]\nrounds = 1.5\n" + mocha, "/run/rounds"},
		{"text in a list of integers", "[run]\nseeds = [1, \"x\"]\n" + mocha, "/run/seeds/1"},
		{"value for a table", "run = 5\n" + mocha, "/run"},
		{"unknown name", "[network]\nprofile = \"5g\"\n" + mocha, "/network/profile"},
		{"unknown preset", "[data]\npreset = \"iris\"\n" + mocha, "/data/preset"},
		{"unknown fleet", "[fleet]\nname = \"toasters\"\n" + mocha, "/fleet/name"},
		{"name with a space", "name = \"a b\"\n" + mocha, "/name"},
		{"unknown algorithm", "[methods.mine]\nalgorithm = \"moca\"\n", "/methods/mine/algorithm"},
		{"label that is no algorithm", "[methods.mine]\n", "/methods/mine"},
		{"unknown protocol of a method", "[methods.mocha]\nprotocol = \"dead-line\"\n", "/methods/mocha/protocol"},
		{"unknown option", "[methods.mocha]\noptions.epoch = 1\n", "/methods/mocha/options/epoch"},
		{"option of another algorithm", "[methods.mine]\nalgorithm = \"mocha\"\noptions.theta = 0.5\n",
			"/methods/mine/options/theta"},
		{"unknown name of an option", "[methods.scaffold]\noptions.variate = \"some\"\n",
			"/methods/scaffold/options/variate"},
		{"experiment without a name", mocha + "[[experiment]]\n", "/experiment/0"},
		{"unknown key in set", mocha + "[[experiment]]\nname = \"a\"\nset = { \"run.round\" = 3 }\n",
			"/experiment/0/set"},
		{"wrong type in set", mocha + "[[experiment]]\nname = \"a\"\nset = { \"run.rounds\" = \"3\" }\n",
			"/experiment/0/set/run.rounds"},
		{"sweep over no list", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = 3 }\n",
			"/experiment/0/sweep/run.rounds"},
		{"sweep over nothing", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [] }\n",
			"/experiment/0/sweep/run.rounds"},
		{"sweep over unknown names", "[sweep]\nnetwork.profile = [\"3g\", \"5g\"]\n" + mocha,
			"/sweep/network/profile/1"},
		{"value swept twice", "[sweep]\nrun.rounds = [3, 3]\n" + mocha, "/sweep/run/rounds"},
		{"axis without points", mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\n",
			"/experiment/0/axis/0"},
		{"point without a label", mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\n" +
			"points = [{ set = { \"run.rounds\" = 1 } }]\n", "/experiment/0/axis/0/points/0"},
		{"sample without a size",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nranges.run.rounds = [1]\n",
			"/experiment/0/sample"},
		{"unknown key of a sample",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 1\nranges.run.round = [1]\n",
			"/experiment/0/sample/ranges/run"},
		{"range without an end",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 1\nranges.run.rounds = { min = 1 }\n",
			"/experiment/0/sample/ranges/run/rounds"},
		{"scale of a range", mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 1\n" +
			"ranges.run.rounds = { min = 1, max = 2, scale = \"ln\" }\n",
			"/experiment/0/sample/ranges/run/rounds/scale"},
		{"tuning of no option", mocha + "[[experiment]]\nname = \"a\"\n[experiment.tune.mocha]\n\"epochs\" = [1]\n",
			"/experiment/0/tune/mocha"},
		{"unknown axis of a figure", mocha + "[[experiment]]\nname = \"a\"\nfigure.x = \"tme\"\n",
			"/experiment/0/figure/x"},
		{"table of the past", "[[table]]\nname = \"a\"\n", "/"},
		{"published error without its standard error",
			mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [1] }\ntable.published.1.mocha = [1]\n",
			"/experiment/0/table/published/1/mocha"},
	} {
		if _, err := Parse("x.toml", []byte(c.source), nil); err == nil {
			t.Errorf("%s: Parse takes it", c.name)
		}
		err := s.Validate(asJSON(t, []byte(c.source)))
		wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
		if !ok {
			t.Errorf("%s: the schema takes it (%v)", c.name, err)
			continue
		}
		expect.That(t, within(wrong, c.at), "%s: not at %s: %v", c.name, c.at, err)
	}
}

// within reports whether an error, or one of its causes, is at the place.
func within(e *jsonschema.ValidationError, at string) bool {
	if "/"+strings.Join(e.InstanceLocation, "/") == at && len(e.Causes) == 0 {
		return true
	}
	for _, cause := range e.Causes {
		if within(cause, at) {
			return true
		}
	}
	return false
}

// Every key of the reference is described where an editor looks for it.
func TestSchemaDescribesEveryKey(t *testing.T) {
	var text bytes.Buffer
	expect.NoError(t, WriteSchema(&text))
	expect.That(t, text.Len() <= 120_000, "the schema has %d bytes, must have at most 120 kB", text.Len())
	for _, f := range referenceFields() {
		quoted := expect.Value(json.Marshal(lead(f)))(t)
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
		expect.That(t, strings.Contains(text.String(), strings.Trim(plain, `"`)),
			"the schema does not describe %s", f.Key)
	}
}

// A description in editors is of whole clauses, without a list of choices.
func TestLead(t *testing.T) {
	for _, c := range []struct {
		doc     string
		choices []string
		lead    string
	}{
		{"number of clients", nil, "number of clients"},
		{"seconds of a round; the server takes no response that comes later, whatever the protocol in force; none",
			nil, "seconds of a round"},
		{"codec of updates: \"none\", \"qsgd\" (random rounding to levels) or \"top-k\" (the largest values), as down",
			[]string{"none", "qsgd", "top-k"}, "codec of updates"},
		{"of csv files: the column that names the client of a row, which the file need not have if it is of one client",
			nil, "of csv files: the column that names the client of a row, which the file need not have if it " +
				"is of one client"},
		{"share of the clients that hold a secret, in (0, 1], rounded up; with fewer the server takes nothing at all",
			nil, "share of the clients that hold a secret, in (0, 1], rounded up"},
		{"exponent of the penalty (T/t)^alpha of clients whose last response took t (longer than the preferred T)",
			nil, "exponent of the penalty (T/t)^alpha of clients whose last response took t"},
	} {
		got := lead(config.Field{Doc: c.doc, Choices: c.choices})
		expect.That(t, got == c.lead, "%q: %q, must be %q", c.doc, got, c.lead)
	}
}
