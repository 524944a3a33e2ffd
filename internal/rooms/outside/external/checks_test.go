package external

import (
	"math"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/pipe"
	"fedsim/mtl"
)

// Measures that no model has are refused with the client, the number and the rule.
func TestMeasuresThatNoModelHas(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		loss, wrong, square, auc float64
		real                     bool
		want                     string // empty: they are taken
	}{
		{0.5, 3, 0.25, 1, false, ""},
		{0.5, 0, 0.5, 0, false, ""},
		{0.5, 8, 0.5, 0.5, false, ""},
		{-0.5, 8, 0.25, 0.5, false, ""}, // a loss may be negative
		{nan, nan, nan, nan, false, ""},
		{0.5, 0.25, 1, 0.5, false,
			"errors = 0.25: must be a whole number in [0, 8]: how many predictions are wrong, not their share"},
		{0.5, -1, 1, 0.5, false, "errors = -1: must be a whole number in [0, 8]"},
		{0.5, 9, 1, 0.5, false, "errors = 9: must be a whole number in [0, 8]"},
		{0.5, nan, 1, 0.5, false, "errors = null: must be a number, as the loss is one"},
		{nan, 0.5, nan, nan, false, "errors = 0.5: must be a whole number in [0, 8]"},
		{0.5, 1234.5, 1, 0.5, true, ""},
		{0.5, nan, 1, 0.5, true, ""},
		{0.5, -0.5, 1, 0.5, true, "errors = -0.5: must not be negative"},
		{0.5, 3, 0.2, 0.5, false, "squared_losses = 0.2: must be at least the square of the loss, 0.25"},
		{0.5, 3, -1, 0.5, false, "squared_losses = -1: must be at least"},
		{0.5, 3, 1, 1.5, false, "metrics.auc = 1.5: must be in [0, 1]"},
		{0.5, 3, 1, nan, false, "metrics.auc = null"},
	} {
		about := &modelHello{squares: true, metrics: []algorithms.NamedMetric{{Name: "auc", Better: "higher"}}}
		g := measures{rows: []int{8}, losses: []float64{c.loss}, errors: []float64{c.wrong},
			squares: []float64{c.square}, own: [][]float64{{c.auc}}}
		err := g.take([]int32{1}, []int32{5, 8}, about, c.real, make([]mtl.Measure, 1))
		if got := errorText(err); c.want == "" && err != nil || !strings.Contains(got, c.want) ||
			c.want != "" && !strings.Contains(got, "client 1") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Shares of a learner are in [0, 1], or [0, 100] with the unit %. An error of real targets is no share.
func TestSharesOfALearner(t *testing.T) {
	for _, c := range []struct {
		name, unit string
		real       bool
		value      float64
		want       string
	}{
		{"accuracy", "", false, 1.0000001, ""},
		{"accuracy", "", true, 42, "test_accuracy = 42: must be in [0, 1]"},
		{"accuracy", "%", false, 42, ""},
		{"accuracy", "%", false, 101, "test_accuracy = 101: must be in [0, 100]"},
		{"accuracy", "points", false, 101, ""},
		{"error", "", false, 1.5, "test_error = 1.5: must be in [0, 1]"},
		{"error", "", false, -0.5, "test_error = -0.5: must be in [0, 1]"},
		{"error", "", true, 1.5, ""},
		{"loss", "", false, 1.5, ""},
		{"accuracy", "", false, math.NaN(), ""},
	} {
		a :=
			&Learner{
				process: &process{
					hello: hello{metrics: []algorithms.NamedMetric{{Split: "test", Name: c.name, Unit: c.unit}}},
				}, about: rooms.LearnerRun{Real: c.real},
			}
		value := algorithms.NamedValue{Split: "test", Name: c.name, Value: c.value}
		if got :=
			errorText(a.checkShares(&algorithms.Evaluation{Values: []algorithms.NamedValue{value}})); c.want == "" &&
			got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
		clients := algorithms.ClientMetric{Split: "test", Name: c.name, Clients: []int32{0, 4},
			Values: []float64{0.5, c.value}}
		if got :=
			errorText(
				a.checkShares(&algorithms.Evaluation{Clients: []algorithms.ClientMetric{clients}})); c.want == "" &&
			got != "" || c.want != "" && !strings.Contains(got, "client 4: answers with "+c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Amounts that no run can add up name themselves.
func TestAmountsAreBounded(t *testing.T) {
	for line, want := range map[string]string{
		`"row_flops":1e308`: "row_flops: must be a number in (0, 1e24]",
		`"row_flops":0`:     "row_flops: must be a number in (0, 1e24]",
		`"row_flops":4,"row_traffic_bytes":1.1e24`: "row_traffic_bytes: must be a number of bytes of memory in [0, " +
			"1e24]",
		`"row_flops":1e24,"row_traffic_bytes":1e24`: "",
	} {
		line = `{"v":1,"name":"a","fingerprint":"b","values":1,"dtype":"float64",` + line + `}`
		err := reader(modelHelloFields.Into(new(modelHello))).read(new(pipe.Decoder), []byte(line))
		expect.That(t, (want != "" || err == nil) && strings.Contains(errorText(err), want), "%s: %v", line, err)
	}
}
