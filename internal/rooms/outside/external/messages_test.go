package external

import (
	"path/filepath"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/pipe"
)

// An error that the learner reports is passed on, whatever else the answer has; anything else
// is read strictly.
func TestReportedErrors(t *testing.T) {
	for line, want := range map[string]string{
		`{"error":"out of memory\nat once"}`:     "it reports: out of memory; at once",
		`{"down_bytes":1,"error":"no","more":2}`: "it reports: no",
		`{"error":"\udc80 is no text"}`:          "it reports: \ufffd is no text",
		`{"error":""}`:                           "it reports an error without a text",
		`{"error":null}`:                         "answers with error: is not a field here: known are down_bytes",
		`{"down_bytes":1,"down_bytes":1}`: `answers "{\"down_bytes\":1,\"down_bytes\":1}": down_bytes: ` +
			`must be there once`,
		`{"down_bytes":-1}`: "answers with down_bytes: must be a whole number of bytes in [0, " +
			"2^53], not -1",
		`{}`: `answers "{}": down_bytes is missing`,
	} {
		var size int
		err := reader(messageFields.Into(&size)).read(new(pipe.Decoder), []byte(line))
		expect.That(t, err != nil && err.Error() == want, "%s: %v, want %s", line, err, want)
	}
}

func TestNameBeforeHello(t *testing.T) {
	folder := t.TempDir()
	o := Options{Command: []string{filepath.Join(folder, "python"), "-m", "pyfedsim.learner",
		filepath.Join(folder, "m.py:Mean")}}
	got, want := o.program(), "python -m pyfedsim.learner m.py:Mean"
	expect.That(t, got == want, "name %q, want %q", got, want)
}

func TestWrongWork(t *testing.T) {
	for fields, want := range map[string]string{
		`"steps":-1,"flops":1,"up_bytes":1`: "answers with work[0].steps: must be a whole number of steps in " +
			"[0, 2^53], not -1",
		`"steps":1,"flops":"many","up_bytes":1`: "answers with work[0].flops: must be a number of FLOPs in [0, " +
			"1e24], not a string",
		`"steps":1,"flops":1,"up_bytes":0.5`: "answers with work[0].up_bytes: must be a whole number of bytes " +
			"in [0, 2^53], not 0.5",
		`"steps":1,"flops":1,"up_bytes":1,"flop":1`: "answers with work[0].flop: is not a field here: " +
			"known are client, steps, flops, up_bytes, batches, traffic_bytes",
	} {
		var all []work
		err := reader(solveFields.Into(&all)).read(new(pipe.Decoder), []byte(`{"work":[{"client":0,`+fields+`}]}`))
		expect.That(t, err != nil && err.Error() == want, "%s: %v, want %s", fields, err, want)
	}
	requests := []algorithms.Request{{Device: 0, Steps: 3}, {Device: 1, Steps: algorithms.NoLimit}}
	for _, c := range []struct {
		client, place, steps int
		want                 string
	}{
		{0, 1, 3, "answers with the work of client 0 twice"},
		{99, 1, 3, "answers with the work of client 99, which was not asked"},
		{1, 0, 3, "answers with the work of client 1 in place 0: must be in the order of the request"},
		{0, 0, 4, "client 0: steps = 4: must be at most 3, as the request says"},
	} {
		w := work{c.client, algorithms.Response{Steps: c.steps}}
		err := w.check(c.place, requests, map[int]bool{0: c.place > 0})
		expect.That(t, err != nil && err.Error() == c.want, "%+v: %v", c, err)
	}
}
