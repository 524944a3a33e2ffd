package driven

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// Rows by client know the updates that were taken, one pass over the rows, and the transfers
// of the last message whose response was taken, by the driver or by a policy.
func TestWhatIsKnownOfClients(t *testing.T) {
	const accuracy = `"clients":[{"split":"test","name":"accuracy","clients":[0,3],"values":[0.25,0.75],` +
		`"better":"higher"}]`
	p := place{clients: 4, scenario: strings.Replace(small, "[run]", "[fleet]\nname = \"mixed\"\n[run]", 1)}
	answers := expect.Value(p.serve(t, strings.Replace(hello, `"seed"`, `"step_flops":1e9,"seed"`, 1),
		`{"op":"close","round":0}`,
		`{"op":"exchange","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1000,"flops":2e6,`+
			`"up_bytes":1000},{"id":2,"client":3,"down_bytes":2000000,"flops":2e6,"up_bytes":3000000}]}`,
		`{"op":"close","round":1,"taken":[2],`+accuracy+`}`,
		`{"op":"exchange","round":2,"kind":"train","policy":true,"msgs":[{"id":7,"client":3,"down_bytes":4000000,`+
			`"flops":1e6,"up_bytes":6000000}]}`,
		`{"op":"close","round":2,"taken":[],`+accuracy+`}`,
		`{"op":"exchange","round":3,"kind":"evaluate","msgs":[{"id":9,"client":3,"down_bytes":1,"flops":1,`+
			`"up_bytes":1}]}`,
		`{"op":"close","round":3,"taken":[],"metrics":[{"split":"test","name":"accuracy_clients","value":1}]}`,
		`{"op":"close","round":3,"taken":[]}`,
		`{"op":"finish","state":"done"}`))(t)
	if answer := answers[7]; !strings.Contains(answer,
		"must be declared in hello: it has the name of a statistic over clients") {
		t.Error(answer)
	}
	for round, want := range []int{0, 1, 2, 2} {
		for client, x := range p.facts[round] {
			updates := 0
			if client == 3 {
				updates = want
			}
			if x.Updates != updates || x.Class == "" || !(x.ComputeS > 0) || math.IsNaN(x.TransferS) != (updates == 0) {
				t.Errorf("round %d, client %d: %+v", round, client, x)
			}
		}
	}
	// The second message is twice the first one, and the latency the same.
	one, two, three := p.facts[1][3].TransferS, p.facts[2][3].TransferS, p.facts[3][3].TransferS
	latency := 2*one - two
	expect.That(t, latency >= 0 && latency <= 1 && two == three, "transfers of %v, %v and %v s", one, two, three)
	last := p.finished.Rounds[2]
	if len(last.Metrics) != 6 || // no mean by rows: the rows are not known
		last.ClientMetrics != nil || last.Client != nil {
		t.Errorf("%+v", last)
	}
	m, ok := p.finished.Metric("test_accuracy_worst10")
	expect.That(t, ok && m.Of(&last) == 0.25, "%+v is %v", m, m.Of(&last))
}

// The rows of clients are those that the driver says, and never those of the scenario.
func TestRowsOfTheDriver(t *testing.T) {
	for rows, want := range map[string]float64{"": math.NaN(), `,"rows":[3,1]`: 0.375, `,"rows":[0,1]`: 0.75,
		`,"rows":[3,null]`: math.NaN()} {
		p := place{clients: 4}
		expect.Value(p.serve(t, hello,
			`{"op":"close","round":0,"clients":[{"split":"test","name":"accuracy","clients":[0,3],"values":[0.25,`+
				`0.75],"better":"higher"`+rows+`}]}`,
			`{"op":"finish","state":"done"}`))(t)
		m, _ := p.finished.Metric("test_accuracy")
		got := m.Of(&p.finished.Rounds[0])
		expect.That(t, got == want || math.IsNaN(got) && math.IsNaN(want), "%s: %g, want %g", rows, got, want)
	}
}

// A response that reports an error counts as dropped, and a driver's warnings are those of the run.
func TestResponsesThatReportErrors(t *testing.T) {
	p := place{clients: 4}
	answers := expect.Value(p.serve(t, hello,
		`{"op":"exchange","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":10,"flops":2e6,`+
			`"up_bytes":10},{"id":2,"client":1,"down_bytes":10,"flops":0,"up_bytes":0},{"id":3,"client":2,`+
			`"down_bytes":10,"flops":2e6,"up_bytes":10}]}`,
		`{"op":"close","round":1,"taken":[1],"failed":[9]}`,
		`{"op":"close","round":1,"taken":[1],"failed":[2]}`,
		`{"op":"finish","state":"done","warnings":["client 1 failed\nin 1 of 1 attempts"]}`,
		`{"op":"finish","state":"done","warnings":["client 1 failed in 1 of 1 attempts: no file"]}`))(t)
	for i, want := range map[int]string{2: `"code":"unknown-id"`, 3: `"participants":1,"dropped":1,"late":1,`,
		4: `warnings[0]: must be text in one line of at most 1000 bytes`} {
		expect.That(t, strings.Contains(answers[i], want), "%s, want %s", answers[i], want)
	}
	told := results.Warning{About: "driver", Text: "client 1 failed in 1 of 1 attempts: no file"}
	w := p.finished.Warnings
	expect.That(t, slices.Contains(w, told), "%v", w)
}
