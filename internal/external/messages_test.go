package external

import (
	"path/filepath"
	"testing"
)

// An error that the learner reports is passed on, whatever else the answer has; anything else
// is read strictly.
func TestReportedErrors(t *testing.T) {
	for line, want := range map[string]string{
		`{"error":"out of memory\nat once"}`:     "the learner reports: out of memory; at once",
		`{"down_bytes":1,"error":"no","more":2}`: "the learner reports: no",
		`{"error":"\udc80 is no text"}`:          "the learner reports: \ufffd is no text",
		`{"error":""}`:                           "the learner reports an error without a text",
		`{"error":null}`:                         "answers with error: is not a field here: known are down_bytes",
		`{"Error":"no"}`:                         "answers with Error: is not a field here: known are down_bytes",
		`{"down_bytes":1,"down_bytes":1}`:        `answers "{\"down_bytes\":1,\"down_bytes\":1}": down_bytes: must be there once`,
		`{"down_bytes":-1}`:                      "answers with down_bytes: must be a whole number of bytes in [0, 2^53], not -1",
		`{}`:                                     `answers "{}": down_bytes is missing`,
	} {
		var size int
		if err := reader(messageFields.Into(&size)).read([]byte(line)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestNameBeforeHello(t *testing.T) {
	folder := t.TempDir()
	o := Options{Command: []string{filepath.Join(folder, "python"), "-m", "pyfedsim.learner", filepath.Join(folder, "m.py:Mean")}}
	if got, want := o.program(), "python -m pyfedsim.learner m.py:Mean"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
}
