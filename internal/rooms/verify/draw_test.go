package verify

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/federation"
)

// setting is a key of a drawn scenario and its value, as for --set.
type setting struct{ key, value string }

// drawn is a drawn scenario: its methods, with labels a, b, ..., its settings, and its grid of runs.
type drawn struct {
	methods  []string
	settings []setting
	grid     []string // tables of its experiment
}

// small is what all drawn scenarios have: they take milliseconds.
const small = `name = "drawn"
[data.synthetic]
clients = 6
features = 3
rows_min = 6
rows_max = 12
[run]
rounds = 5
seeds = [1, 2]
max_time_s = 1e6
save_model = true
`

// source returns the scenario without its settings.
func (d *drawn) source() string {
	text := small
	for i, m := range d.methods {
		text += fmt.Sprintf("[methods.%c]\nalgorithm = %q\n", 'a'+i, m)
	}
	if len(d.grid) > 0 {
		text += "[[experiment]]\nname = \"drawn\"\n" + strings.Join(d.grid, "")
	}
	return text
}

// grids are what experiments of drawn scenarios have: a sweep, points from ranges, and a tuned method.
var grids = [][]string{
	{"[experiment.sweep]\n\"network.bytes_scale\" = [1, 1000]\n"},
	{"[experiment.sample]\nsize = 2\n[experiment.sample.ranges]\n" +
		"\"devices.flops_scale\" = { min = 1, max = 1e4, scale = \"log\" }\n"},
	{"[experiment.tuning]\ntarget = { train_error = 0.45 }\nextend = 2\n",
		"[experiment.tune.a]\n\"problem.lambda\" = [0.01, 0.1]\n"},
	{"[experiment.tuning]\ntarget = { train_error = 0.45 }\n",
		"[experiment.tune.a]\n\"problem.lambda\" = [0.01, 0.1]\n",
		"[experiment.sweep]\n\"network.bytes_scale\" = [1, 1000]\n"},
}

// arguments returns the settings, and more, as for --set.
func (d *drawn) arguments(more ...string) (list []string) {
	for _, s := range d.settings {
		list = append(list, s.key+"="+s.value)
	}
	return append(list, more...)
}

// parse reads the scenario with more settings.
func (d *drawn) parse(more ...string) (*scenario.Scenario, error) {
	return scenario.Parse("drawn.toml", []byte(d.source()), d.arguments(more...))
}

// String returns the scenario as commands show it.
func (d *drawn) String() string {
	return d.source() + "# --set " + strings.Join(d.arguments(), "\n# --set ")
}

// foreign are keys that name files, programs or many devices, that only change output, or that variants set.
var foreign = regexp.MustCompile(`^(name|description|data\.path|data\.synthetic\.(clients|features|rows_.*)|` +
	`run\.(rounds|seeds|mode|devices|client_metrics|model|certain.*)|federation\.population|` +
	`problem\.(program|model_options|threads).*|data\.(external|alpha_beta|arrays).*|.*\.(file|files|path|program)|` +
	`.*_file|experiment.*|methods\.[^.]*\.algorithm|plots.*|figure.*)$`)

// values returns values for a key.
func values(f *config.Field) []string {
	switch {
	case f.Choices != nil && strings.HasPrefix(f.Type, "string"):
		quoted := make([]string, len(f.Choices))
		for i, c := range f.Choices {
			quoted[i] = fmt.Sprintf("%q", c)
		}
		return quoted
	case strings.HasPrefix(f.Type, "boolean"):
		return []string{"true", "false"}
	case strings.HasPrefix(f.Type, "integer"):
		return []string{"1", "2", "3", "4", "7"}
	case strings.HasPrefix(f.Type, "float"):
		return []string{"0.0", "0.01", "0.1", "0.25", "0.5", "0.75", "1.0", "1.5", "3.0", "20.0", "1000.0"}
	default:
		return nil
	}
}

// draw returns the scenario of a seed and how it parses. It draws methods, a protocol, a selection and some of
// the keys that these have. Settings that do not fit are taken away until the scenario can be run.
func draw(seed uint64) (*drawn, error) {
	r := rand.New(rand.NewPCG(seed, 0x666564))
	d := &drawn{}
	names := slices.DeleteFunc(algorithms.Names(), func(n string) bool { return n == "external" || n == "optimum" })
	for range 1 + r.IntN(2) {
		d.methods = append(d.methods, names[r.IntN(len(names))])
	}
	set := func(key, value string) { d.settings = append(d.settings, setting{key, value}) }
	protocols := federation.ProtocolNames()
	set("federation.protocol", fmt.Sprintf("%q", protocols[r.IntN(len(protocols))]))
	if r.IntN(2) == 0 {
		selectors := federation.SelectorNames()
		set("federation.selection", fmt.Sprintf("%q", selectors[r.IntN(len(selectors))]))
		set("federation.clients_per_round", fmt.Sprint(2+r.IntN(3)))
	}
	if r.IntN(2) == 0 {
		set("faults.drop_probability", []string{"0.1", "0.3", "0.6"}[r.IntN(3)])
	}
	if r.IntN(3) == 0 {
		set("network.jitter", "0.3")
	}
	if r.IntN(4) == 0 {
		set("fleet.devices", `"middle"`)
	}
	if r.IntN(5) == 0 { // what lazy populations need
		set("federation.selection", `"uniform-rejection"`)
		set("federation.clients_per_round", "3")
		set("devices.battery.wh", `"mains"`)
	}
	if r.IntN(3) == 0 {
		d.grid = grids[r.IntN(len(grids))]
	}
	s, err := d.repair(r)
	if err != nil {
		return d, err
	}
	fields := slices.DeleteFunc(scenario.Keys(s), func(f config.Field) bool {
		return foreign.MatchString(f.Key) || values(&f) == nil
	})
	for range r.IntN(12) {
		f := &fields[r.IntN(len(fields))]
		of := values(f)
		set(f.Key, of[r.IntN(len(of))])
	}
	_, err = d.repair(r)
	return d, err
}

// repair takes settings away until the scenario parses: those that an error names, else any.
func (d *drawn) repair(r *rand.Rand) (*scenario.Scenario, error) {
	for {
		s, err := d.parse()
		switch {
		case err == nil:
			return s, nil
		case len(d.settings) == 0 && d.grid == nil:
			return nil, err
		case len(d.settings) == 0:
			d.grid = nil
			continue
		}
		text := err.Error()
		named := slices.DeleteFunc(slices.Clone(d.settings), func(s setting) bool {
			return !strings.Contains(text, "--set "+s.key+"=")
		})
		out := d.settings[r.IntN(len(d.settings))]
		if len(named) > 0 {
			out = named[r.IntN(len(named))]
		}
		d.settings = slices.DeleteFunc(d.settings, func(s setting) bool { return s == out })
	}
}

// shrink takes settings and methods away as long as the scenario still fails.
func (d *drawn) shrink(fails func(*drawn) bool) *drawn {
	for smaller := true; smaller; {
		smaller = false
		for i := range d.settings {
			next := &drawn{d.methods, slices.Delete(slices.Clone(d.settings), i, i+1), d.grid}
			if fails(next) {
				d, smaller = next, true
				break
			}
		}
		for i := range d.methods {
			next := &drawn{slices.Delete(slices.Clone(d.methods), i, i+1), d.settings, d.grid}
			if !smaller && len(d.methods) > 1 && fails(next) {
				d, smaller = next, true
				break
			}
		}
		if next := (&drawn{d.methods, d.settings, nil}); !smaller && d.grid != nil && fails(next) {
			d, smaller = next, true
		}
	}
	return d
}
