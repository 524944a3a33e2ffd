package report

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/tools/expect"
)

// The page has the tables, the entries and the sentences of the report, and each figure; names of
// a log are text, and nothing comes from elsewhere.
func TestCalibrationPage(t *testing.T) {
	log := &attemptlog.Log{Runs: []*attemptlog.Run{{Name: "run"}}, Notes: []string{"Rows are <few>."}}
	nan := math.NaN()
	for round := range 3 {
		for i, name := range []string{"<b>ann", "bob"} {
			at := 10 * float64(round)
			log.Runs[0].Attempts = append(log.Runs[0].Attempts, attemptlog.Attempt{
				Round: round, Client: name, Kind: attemptlog.Train, BytesDown: 1e6, BytesUp: 1e6, FLOPs: 1e9,
				Steps: nan, Sent: at, ReplyFirst: at + 3, Seen: at + 4, Receive: 1, Wait: 0, Compute: 1 + float64(i),
				Idle: nan, Reply: nan, CPU: nan, Outcome: attemptlog.Taken, DownMbps: 8, UpMbps: 8, GFLOPS: nan,
				TrafficBytes: nan, Examples: nan, Epochs: nan, Batch: nan,
			})
		}
	}
	c := expect.Value(calibration.Fit(log, calibration.Options{Resamples: -1}))(t)
	figures := expect.Value(c.Figures(log))(t)
	var page bytes.Buffer
	expect.NoError(t,
		WriteCalibration(&page, "my <calibration>", c.Summary(), c.Sections(c.InSample(log), nil), figures))
	text := page.String()
	for want, n := range map[string]int{
		"<h1>my &lt;calibration&gt;</h1>": 1, "<p>1 run, 3 rounds, 6 attempts of 2 clients</p>": 1,
		"<svg ": 3, `id="measured"`: 1, `id="residuals"`: 1, `id="fleet"`: 1,
		"<caption>computation: clients</caption>":                         1,
		"<tr><th scope=\"row\" data-head=\"client\">&lt;b&gt;ann</th><td": 2,
		">GFLOP/s</th>": 2, "<h4>not identified, left at the default</h4>": 1, "<li>step_overhead_s: ": 1,
		"<li>Rows are &lt;few&gt;.</li>": 1, "<b>": 0, "<?xml": 0, "<script": 0, "<link": 1, "src=": 0, "url(": 0,
		"@import": 0,
	} {
		got := strings.Count(text, want)
		expect.That(t, got == n, "%d times %s, want %d", got, want, n)
	}
	for _, address := range regexp.MustCompile(`https?://[^"' ]*`).FindAllString(text, -1) {
		if !strings.HasPrefix(address, "http://www.w3.org/") { // names of namespaces
			t.Errorf("the page refers to %s", address)
		}
	}
}
