package data

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/input"
)

// problems returns the errors of Validate in order.
func problems(cfg Config) []string {
	check := config.NewChecker()
	cfg.Validate(check.In("data"))
	var said []string
	for _, p := range check.Problems() {
		said = append(said, p.Error())
	}
	return said
}

// loaded is Load that must not fail.
func loaded(t filetest.T, cfg Config) *Set {
	t.Helper()
	set := expect.Value(Load(cfg))(t)
	return set
}

// prepared is Prepare that must not fail.
func prepared(t filetest.T, cfg Config) *Split {
	t.Helper()
	split := expect.Value(Prepare(cfg))(t)
	return split
}

func TestValidConfigurations(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"defaults":       func(*Config) {},
		"human activity": func(c *Config) { c.Preset = "human-activity" },
		"google glass":   func(c *Config) { c.Preset = "google-glass" },
		"vehicle sensor": func(c *Config) { c.Preset = "vehicle-sensor" },
		"few tasks":      func(c *Config) { c.Preset, c.Synthetic.Clients = "google-glass", 2 },
		"one task":       func(c *Config) { c.Synthetic.Clients = 1 },
		"equal sizes":    func(c *Config) { c.Synthetic.RowsMin, c.Synthetic.RowsMax = 50, 50 },
		"few features":   func(c *Config) { c.Preset, c.Synthetic.Features = "human-activity", 3 },
		"no noise":       func(c *Config) { c.Synthetic.Noise, c.Synthetic.Shift, c.Synthetic.Margin = 0, 0, 0 },
		"all rows train": func(c *Config) { c.TestFraction = 0 },
		"har":            func(c *Config) { c.Source, c.Path, c.PositiveClass = SourceHAR, "har.zip", "LAYING" },
		"real targets":   func(c *Config) { c.Target, c.Synthetic.TargetNoise = TargetReal, 0 },
		"real csv":       func(c *Config) { c.Source, c.Path, c.Target = SourceCSV, "x.csv", TargetReal },
		"csv":            func(c *Config) { c.Source, c.Path, c.ClientColumn = SourceCSV, "x.csv", "device" },
	} {
		cfg := Defaults()
		change(&cfg)
		said := problems(cfg)
		expect.That(t, said == nil, "%s: %v", name, said)
	}
}

func TestInvalidConfigurations(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(c *Config) { c.Source = "uci_har" }, []string{
			`data.source = "uci_har": must be one of ` + strings.Join(sources().Names(), ", ") +
				` (did you mean "uci-har"?)`}},
		{func(c *Config) { c.TestFraction, c.Skew, c.Path = math.NaN(), -1, "x" }, []string{
			`data.test_fraction = NaN: must be in [0, 1)`,
			`data.skew = -1: must be at least 1`,
			`data.path = "x": must be empty when source is "synthetic"; to read a file, set source to one of ` +
				sourcesWith(func(s source) bool { return s.file != "" })}},
		{func(c *Config) { c.Preset = "human-activty" }, []string{
			`data.preset = "human-activty": must be one of human-activity, google-glass, vehicle-sensor, ` +
				`mnist-sized (did you mean "human-activity"?)`}},
		{func(c *Config) { c.Source = SourceHAR }, []string{
			`data.path = "": must name the zip or folder of the UCI HAR data set`}},
		{func(c *Config) {
			c.Source, c.Path, c.Target, c.PositiveClass = SourceHAR, "x", TargetClasses, "SITTING"
		}, []string{
			`data.positive_class = "SITTING": has no effect when target is "classes"`}},
		{func(c *Config) { c.Source, c.ClientColumn, c.LabelColumn = SourceCSV, "", "" }, []string{
			`data.path = "": must name the csv file`,
			`data.label_column = "": must name a column`,
			`data.label_column = "": must differ from client_column`}},
		{func(c *Config) { c.ClientColumn, c.LabelColumn, c.PositiveClass = "t", "l", "p" }, []string{
			`data.positive_class = "p": has no effect when source is "synthetic"; it belongs to source ` +
				sourcesWith(func(s source) bool { return slices.Contains(s.keys, "positive_class") }),
			`data.client_column = "t": has no effect when source is "synthetic"; it belongs to source ` +
				sourcesWith(func(s source) bool { return slices.Contains(s.keys, "client_column") }),
			`data.label_column = "l": has no effect when source is "synthetic"; it belongs to source ` +
				sourcesWith(func(s source) bool { return slices.Contains(s.keys, "client_column") })}},
		{func(c *Config) { c.Target = "reel" }, []string{
			`data.target = "reel": must be one of class, classes, real (did you mean "real"?)`}},
		{func(c *Config) { c.Target, c.Source, c.Path = TargetReal, SourceHAR, "har.zip" }, []string{
			`data.target = "real": must be "class" or "classes" when source is "uci-har": its labels are activities`}},
		{func(c *Config) {
			c.Target = TargetReal
			c.Synthetic.PositiveShare, c.Synthetic.Margin, c.Synthetic.Noise, c.Synthetic.TargetNoise = 0.5, 1, 0.1,
				2000
		}, []string{
			`data.synthetic.target_noise = 2000: must be in [0, 1000]`,
			`data.synthetic.positive_share = 0.5: has no effect when target is "real"`,
			`data.synthetic.margin = 1: has no effect when target is "real"`,
			`data.synthetic.noise = 0.1: has no effect when target is "real"`}},
		// Keys of the generator are allowed with a file.
		{func(c *Config) {
			c.Source, c.Path, c.Preset, c.Synthetic.Clients = SourceCSV, "x", "google-glass", 3
		}, nil},
		{func(c *Config) { c.Synthetic.Clusters, c.Synthetic.Factors = 21, 41 }, []string{
			`data.synthetic.clusters = 21: must be at most clients = 20`,
			`data.synthetic.factors = 41: must be at most features = 40`}},
		{func(c *Config) { c.Synthetic.RowsMin = 181 }, []string{
			`data.synthetic.rows_min = 181: must be at most rows_max = 180`}},
		// Two of 20 sizes 60 away from the middle: 120/sqrt(38) = 19.47; all of them: 60
		// sqrt(20/19) = 61.56.
		{func(c *Config) { c.Synthetic.RowsDeviation = 10 }, []string{
			`data.synthetic.rows_deviation = 10: must be in [19.46, 61.56]: with 20 clients of 60 to 180 rows no ` +
				`other value is possible`}},
		{func(c *Config) { c.Synthetic.RowsDeviation = math.NaN() }, []string{
			`data.synthetic.rows_deviation = NaN: must be in [19.46, 61.56]: with 20 clients of 60 to 180 rows no ` +
				`other value is possible`}},
		{func(c *Config) { c.Preset, c.Synthetic.Clients = "human-activity", 1000000 }, []string{
			`data.synthetic.clients = 1000000: clients x rows_max x features must be at most 1073741824 values, ` +
				`it is 1.717e+11`}},
	} {
		cfg := Defaults()
		c.change(&cfg)
		diff := cmp.Diff(c.want, problems(cfg))
		expect.That(t, diff == "", "%v", diff)
	}
}

// Rows that are counted and never generated have no limit: ten million devices.
func TestRowsThatAreNeverMadeHaveNoLimit(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features = 10_000_000, 100
	for _, c := range []struct {
		change func(*Config)
		wrong  int
	}{
		{func(*Config) {}, 0},
		{func(c *Config) { c.Skew = 3 }, 1}, // skewed after they are generated
		{func(c *Config) { c.ClientsPerTask = 2 }, 1},
		{func(c *Config) { c.Synthetic.Clusters = 20_000_000 }, 1},
	} {
		changed := cfg
		c.change(&changed)
		check := config.NewChecker()
		if changed.ValidateSizes(check); len(check.Problems()) != c.wrong {
			t.Errorf("%v", check.Problems())
		}
		check = config.NewChecker()
		if changed.Validate(check); len(check.Problems()) == 0 {
			t.Error("made rows have no limit")
		}
	}
}

func TestUniqueNames(t *testing.T) {
	got := input.UniqueNames([]string{"a", "a#2", "a", "b", "a", "b"})
	diff := cmp.Diff([]string{"a", "a#2", "a#3", "b", "a#4", "b#2"}, got)
	expect.That(t, diff == "", "%v", diff)
}

// sourcesWith returns the names of the sources for which use is true, in quotation marks.
func sourcesWith(use func(s source) bool) string {
	var names []string
	for _, s := range sources().All() {
		if use(s) {
			names = append(names, strconv.Quote(s.name))
		}
	}
	return strings.Join(names, ", ")
}
