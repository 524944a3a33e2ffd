package driven

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// A run from hello to finish, with its rows and events.
func TestRun(t *testing.T) {
	var p place
	answers := expect.Value(p.serve(t, hello,
		`{"op":"available"}`,
		`{"op":"close","round":0,"metrics":[{"split":"test","name":"accuracy","value":0.5,"better":"higher"}]}`,
		`{"op":"exchange","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1000,"flops":2e6,`+
			`"up_bytes":1000},{"id":2,"client":3,"down_bytes":1000,"flops":2e6,"up_bytes":1000}]}`,
		`{"op":"close","round":1,"taken":[1,2],"metrics":[{"split":"test","name":"accuracy","value":0.75}]}`,
		`{"op":"finish","state":"done",`+
			`"model_sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`))(t)
	for i, want := range []string{
		`"clients":4`, `"available":[[0,3]]`, `"row":{"outer":0,"round":0,`, `"end":"all"`, `"participants":2,`,
		`"model_hash":"0123456789abcdef"`,
	} {
		expect.That(t, strings.Contains(answers[i], want), "answer %d is %s: must hold %s", i, answers[i], want)
	}
	run := p.finished
	if run == nil || len(run.Rounds) != 2 || run.Rounds[1].TestError != 0.25 || run.Rounds[1].Participants != 2 ||
		run.Seed != 1 || run.Method != "FedAvg" || run.EventHash == 0 {
		t.Errorf("%+v", run)
	}
	expect.That(t, len(run.Metrics) == 1 && run.Metrics[0].Better == "higher" && len(p.rounds) == 2,
		"%+v, %d rounds", run.Metrics, len(p.rounds))
}

// Input that ends before the op finish interrupts the run.
func TestEndOfInput(t *testing.T) {
	var p place
	_, err := p.serve(t, hello, `{"op":"close","round":0}`)
	if !errors.Is(err, ErrInterrupted) || p.stopped == nil || len(p.stopped.Rounds) != 1 ||
		p.why != "the input ended before the op finish" {
		t.Errorf("%v, %+v, %s", err, p.stopped, p.why)
	}
}

// Input that ends before the op hello leaves nothing.
func TestEndOfInputBeforeHello(t *testing.T) {
	var p place
	_, err := p.serveText(t, "")
	if !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.Canceled) ||
		err.Error() != "interrupted: the input ended before the op finish; no run was started" {
		t.Error(err)
	}
}

// The row of a round has every column that fedsim measures, null where nothing is known, and costs
// only where they are counted.
func TestRowHasTheMeasuredColumns(t *testing.T) {
	round := results.NewRound()
	r := response{b: []byte("{")}
	r.row(&round)
	for i := range results.RoundColumns {
		c := &results.RoundColumns[i]
		want := `"` + c.Name + `":0`
		if c.Optional {
			want = `"` + c.Name + `":null`
		}
		if bytes.Contains(r.b, []byte(want)) != (c.Kind.Measured() && (c.Kind != results.CostColumn || !c.Optional)) {
			t.Errorf("%s: the row is %s", c.Name, r.b)
		}
	}
}

// An error names a field that the request has.
func TestFieldOfAMessageThatAPolicyEnds(t *testing.T) {
	p :=
		place{
			scenario: small +
				"[federation]\nprotocol = \"deadline\"\ndeadline_s = 0.1\n" +
				"protocol_options.fit_work = false\nlate = \"keep\"\n",
		}
	answers, err := p.serve(t, hello,
		`{"op":"exchange","round":1,"kind":"train","policy":true,"msgs":[{"id":7,"client":0,"down_bytes":1000,`+
			`"flops":1e11,"up_bytes":1000}]}`,
		`{"op":"close","round":1}`,
		`{"op":"cancel","ids":[7]}`,
		`{"op":"exchange","round":2,"kind":"train","policy":true,"msgs":[{"id":8,"client":1,"down_bytes":1000,`+
			`"flops":null,"up_bytes":null}]}`)
	if !errors.Is(err, ErrInterrupted) || len(answers) != 5 {
		t.Fatal(answers, err)
	}
	for i, want := range map[int]string{3: `"field":"ids[0]"`, 4: `"field":"policy"`} {
		expect.That(t, strings.Contains(answers[i], `"code":"policy"`) && strings.Contains(answers[i], want),
			"%s: must hold %s", answers[i], want)
	}
}

// With partial work, select says how many epochs each device makes, and comes first.
func TestSelectEpochs(t *testing.T) {
	p := place{scenario: small + "[federation]\npartial_share = 0.5\n"}
	answers, err := p.serve(t, hello,
		`{"op":"exchange","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1000,"flops":2e6,`+
			`"up_bytes":1000}]}`,
		`{"op":"select","round":1,"epochs":1}`,
		`{"op":"select","round":1,"epochs":2}`,
		`{"op":"exchange","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1000,"flops":2e6,`+
			`"up_bytes":1000}]}`)
	if !errors.Is(err, ErrInterrupted) || len(answers) != 5 {
		t.Fatal(answers, err)
	}
	for i, want := range []string{`"epochs"`, `"code":"policy"`, `"code":"value"`, `"clients":[0,1,2,3],"epochs":[`,
		`"ev":"response"`} {
		expect.That(t, strings.Contains(answers[i], want), "answer %d is %s: must hold %s", i, answers[i], want)
	}
	if answers[3] = answers[3][strings.Index(answers[3], `"epochs"`):]; strings.Count(answers[3], "1") != 2 ||
		strings.Count(answers[3], "2") != 2 {
		t.Errorf("%s: half of the devices must make 1 epoch of 2", answers[3])
	}
}

// A select with report_bytes has the batteries of all available devices, which cost their bytes
// and take their time.
func TestSelectReportsBatteries(t *testing.T) {
	p := place{scenario: small + "[federation]\nclients_per_round = 2\n[devices]\nbattery.start = 0.5\n"}
	answers, err := p.serve(t, hello,
		`{"op":"select","round":1,"report_bytes":500}`,
		`{"op":"select","round":1}`,
		`{"op":"select","round":1,"report_bytes":-1}`,
		`{"op":"close","round":1}`)
	if !errors.Is(err, ErrInterrupted) || len(answers) != 5 {
		t.Fatal(answers, err)
	}
	for i, want := range []string{
		`"batteries","overheads"]`, `"reported":[0,1,2,3],"battery":[0.5,0.5,0.5,0.5],"charging":[true,true,true,true]`,
		`"clients":[`, `"field":"report_bytes"`, `"bytes_down":2000,"bytes_up":2000`,
	} {
		expect.That(t, strings.Contains(answers[i], want), "answer %d is %s: must hold %s", i, answers[i], want)
	}
	expect.That(t, !strings.Contains(answers[1], `"now_ns":0,`) && !strings.Contains(answers[2], "battery"),
		"%s\n%s: reports take time, and are not asked for again", answers[1], answers[2])
}
