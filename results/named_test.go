package results

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

var declared = []NamedMetric{
	{"test", "accuracy", "higher", ""}, {"train", "loss", "lower", ""}, {"test", "error", "", "%"},
	{"train", "accuracy", "higher", "%"}, {"", "bleu", "higher", "points"},
}

func unknownRound() Round {
	r := NewRound()
	r.Suboptimality, r.Dual, r.Gap, r.Available = 0, 0, 0, 0
	return r
}

// Named values become columns of rounds.parquet: an error before an accuracy, per cent as
// shares, and never over a figure that the learner gave itself.
func TestNamedValuesBecomeColumns(t *testing.T) {
	for _, c := range []struct {
		values                 []NamedValue
		primal, train, testing float64
		stored                 int
	}{
		{nil, math.NaN(), math.NaN(), math.NaN(), 0},
		{[]NamedValue{{"test", "accuracy", 0.75}}, math.NaN(), math.NaN(), 0.25, 1},
		{[]NamedValue{{"train", "accuracy", 87.5}, {"train", "loss", 0.5}}, 0.5, 0.125, math.NaN(), 2},
		{[]NamedValue{{"test", "error", 12.5}, {"test", "accuracy", 0.75}}, math.NaN(), math.NaN(), 0.125, 2},
		{[]NamedValue{{"test", "error", math.NaN()}, {"test", "accuracy", 0.75}, {"", "bleu", 30}}, math.NaN(),
			math.NaN(), 0.25, 2},
	} {
		r := unknownRound()
		expect.NoError(t, r.SetNamed(declared, c.values))
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !same(r.Primal, c.primal) || !same(r.TrainError, c.train) || !same(r.TestError, c.testing) ||
			len(r.Metrics) != c.stored {
			t.Errorf("%v: primal %g, train %g, test %g, %d stored", c.values, r.Primal, r.TrainError, r.TestError,
				len(r.Metrics))
		}
	}
	r := unknownRound()
	r.TestError = 0.5
	if err := r.SetNamed(declared, []NamedValue{{"train", "loss", 2}, {"test", "accuracy", 0.75}}); err != nil ||
		r.TestError != 0.5 {
		t.Errorf("the test error is %g: %v", r.TestError, err)
	}
	want := []NamedValue{{"test", "accuracy", 0.75}, {"train", "loss", 2}}
	expect.That(t, cmp.Equal(r.Metrics, want), "stored %v, want the order of declaration", r.Metrics)
}

func TestNamedValuesThatAreRefused(t *testing.T) {
	for want, values := range map[string][]NamedValue{
		`metric "test_auc" was not declared: the learner has test_accuracy, train_loss, test_error, train_accuracy, ` +
			`bleu`: {{"test", "auc", 1}},
		`metric "bleu": must have one value a round`: {{"", "bleu", 1}, {"train", "loss", 2}, {"", "bleu", 1}},
	} {
		r := unknownRound()
		err := r.SetNamed(declared, values)
		expect.That(t, err != nil && err.Error() == want, "%v\nwant %s", err, want)
	}
	for want, c := range map[string]ClientMetric{
		`metric "auc" was not declared`:                       {"", "auc", []int32{0}, []float64{1}, nil},
		`metric "bleu" by client: has 1 values for 2 clients`: {"", "bleu", []int32{0, 1}, []float64{1}, nil},
		`client 3: must be the number of a client, 0 to 2`:    {"", "bleu", []int32{3}, []float64{1}, nil},
		`client -1: must be the number of a client`:           {"", "bleu", []int32{-1}, []float64{1}, nil},
		`client 1: must be the number of a client, 0 to 2, in increasi`: {"", "bleu", []int32{1, 1}, []float64{1, 2},
			nil},
	} {
		var r Round
		err := r.SetClients(declared, []int32{4, 5, 6}, false, []ClientMetric{c})
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v\nwant %s", err, want)
	}
	var r Round
	twice := ClientMetric{"", "bleu", []int32{0, 2}, []float64{1, 2}, nil}
	if err := r.SetClients(declared, []int32{4, 5, 6}, false, []ClientMetric{twice, twice}); err == nil ||
		!strings.Contains(err.Error(), "once a round") {
		t.Error(err)
	}
	if err := r.SetClients(declared, []int32{4, 5, 6}, false, []ClientMetric{twice}); err != nil ||
		!cmp.Equal(r.ClientMetrics, []ClientMetric{{"", "bleu", []int32{0, 2}, []float64{1, 2}, []int32{4, 6}}}) {
		t.Errorf("%v: %v", r.ClientMetrics, err)
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	if err := CheckNamed(declared); err != nil {
		t.Error(err)
	}
	for want, m := range map[string]NamedMetric{
		`metric "x": split = "dev": must be one of ["" "train" "validation" "test"]`: {"dev", "x", "",
			""},
		`metric "test_x": better = "up": must be one of ["" "higher" "lower"]`: {"test", "x",
			"up", ""},
		`metric "": its name must be 1 to 64 letters, digits, "_", "-" or ".", the first a letter`: {"test", "", "",
			""},
		`metric "9x": its name must be 1 to 64 letters, digits, "_", "-" or ".", the first a letter`: {"", "9x", "",
			""},
		`metric "x": unit = "a\nb": must be at most 16 bytes of text`: {"", "x", "",
			"a\nb"},
		`metric "gap": must have another name: results have a column of that name`: {"", "gap", "",
			""},
		`metric "test_error": must have another name: results have a column of that name`: {"", "test_error",
			"", ""},
		`metric "test_error": better = "higher": must be "lower"`: {"test", "error",
			"higher", ""},
		`metric "` + strings.Repeat("x", 65) +
			`": its name must be 1 to 64 letters, digits, "_", "-" or ".", the first a letter`: {"",
			strings.Repeat("x", 65), "", ""},
	} {
		err := CheckNamed([]NamedMetric{{"train", "x", "", ""}, m})
		expect.That(t, err != nil && err.Error() == want, "%v\nwant %s", err, want)
	}
	for _, twice := range [][]NamedMetric{{{"test", "x", "", ""}, {"test", "x", "", ""}},
		{{"test", "x", "", ""}, {"", "test_x", "", ""}}} {
		err := CheckNamed(twice)
		expect.That(t, err != nil && err.Error() == `metric "test_x": must be declared once`, "%v", err)
	}
	for _, name := range []string{"outer", "dual", "test_accuracy", "method", "late", "toll_g", "theta"} {
		if err := CheckNamed([]NamedMetric{{Name: name}}); err == nil ||
			!strings.Contains(err.Error(), "must have another name: results have a column of that name") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range statistics {
		for _, of := range []string{"error", "accuracy", "loss", "auc", "recall"} {
			m := []NamedMetric{{Split: "test", Name: "recall"}, {Split: "test", Name: of + "_" + statistics[i].name}}
			want :=
				fmt.Sprintf(`metric "test_%s_%s": must have another name: it is that of a statistic over clients, `+
					`of "test_%[1]s"`, of, statistics[i].name)
			err := CheckOwn(m)
			expect.That(t, err != nil && err.Error() == want, "%v, want %s", err, want)
		}
	}
	if err := CheckOwn([]NamedMetric{{Name: Epsilon}}); err == nil ||
		!strings.Contains(err.Error(), "of runs with privacy") {
		t.Error(err)
	}
	if err := CheckOwn([]NamedMetric{{Split: "test", Name: "recall_clients"}, {Split: "train", Name: "recall"},
		{Name: "time_sd"}}); err != nil {
		t.Error(err)
	}
	many := make([]NamedMetric, MostNamed+1)
	for i := range many {
		many[i].Name = fmt.Sprint("x", i)
	}
	if err := CheckNamed(many[1:]); err != nil {
		t.Error(err)
	}
	if err := CheckNamed(many); err == nil ||
		!strings.HasPrefix(err.Error(), "1001 metrics are declared: must be at most 1000") {
		t.Error(err)
	}
}

// Without a direction a higher accuracy is better, and a lower value of other metrics.
func TestDirections(t *testing.T) {
	for _, c := range []struct {
		name, better string
		higher       bool
	}{{"accuracy", "", true}, {"accuracy", "higher", true}, {"accuracy", "lower", false}, {"loss", "", false},
		{"auc", "higher", true}, {"error", "lower", false}} {
		m := NamedMetric{Split: "test", Name: c.name, Better: c.better}
		expect.That(t, m.Metric().Higher == c.higher, "%s, better %q: higher %t", c.name, c.better, !c.higher)
	}
}
