package command

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/federation/learning"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/rooms/outside/learnercheck"
	"fedsim/internal/tools/expect"
)

// checkScalar checks the learner of one number with a fault, or with none. It returns the
// findings and the parts that were left out.
func checkScalar(t *testing.T, fault string,
	change func(*learnercheck.Check)) (findings []learnercheck.Finding, parts []learnercheck.Part) {
	t.Helper()
	c := learnercheck.Check{
		Options: &external.Options{Command: []string{"learner"}, TimeoutS: 20, Learner: map[string]any{}},
		Clients: 4, Rows: 10, Rounds: 3, Dir: t.TempDir(), Store: learning.CheckNamed, Grace: time.Minute,
	}
	if fault != "" {
		c.Options.Command = append(c.Options.Command, fault)
	}
	if change != nil {
		change(&c)
	}
	c.Run(t.Context(), func(p learnercheck.Part) {
		findings = append(findings, p.Findings...)
		parts = append(parts, p)
	})
	return findings, parts
}

func TestConforming(t *testing.T) {
	for _, fault := range []string{"", "no-hash", "rounds-only"} {
		findings, parts := checkScalar(t, fault, nil)
		for _, f := range findings {
			t.Errorf("%q: %s; request %s; response %s", fault, f.Text, f.Request, f.Response)
		}
		skipped := 0
		for _, p := range parts {
			if p.Skipped != "" {
				skipped++
			}
		}
		want := map[string]int{"rounds-only": 4}[fault]
		expect.That(t, skipped == want, "%q: %d parts are left out, must be %d", fault, skipped, want)
	}
}

// Each fault is found, and described in words.
func TestFindings(t *testing.T) {
	for fault, want := range map[string]string{
		"version":       `hello: answers with v: must be 1`,
		"chatty":        `Loading the data`,
		"half":          `begin: exited with status 0, after half a line: "{\"down_by"`,
		"nan":           `evaluate: answers with metrics[1].value: must be a finite number or null, not NaN`,
		"negative":      `end: answers with flops: must be a number of FLOPs in [0, 1e24]`,
		"minus":         `answers with work[0].up_bytes: must be a whole number of bytes`,
		"unknown-field": `answers with work[0].flop: is not a field here`,
		"order":         `in the order of`,
		"undeclared":    `acuracy`,
		"two-lines":     `more than one line`,
		"limit":         `steps = 3: must be at most 1, as the request says`,
		"random":        `in a second run`,
		"generator":     `if the discarded work is not asked`,
		"line":          `with a line for each client`,
		"early":         `discarded work`,
		"discard":       `discarded work`,
		"again":         `if work is discarded and asked again`,
		"tired": `round 1, client 0: its work is 3 steps, 12 FLOPs, 8 bytes, and after a discard 2 steps, ` +
			`8 FLOPs, 8 bytes with the same seed`,
		"evaluate":  `if the model is evaluated twice`,
		"loss":      `if losses are asked`,
		"save":      `if the state is saved`,
		"digest":    `sha256 = `,
		"load":      `after it was loaded by another process`,
		"tentative": `by another process`,
		"strict":    `must ignore a field that it does not know`,
		"unknown":   `must answer an operation that it does not know with {"error": "..."}`,
		"dies":      `after an operation that it does not know it exited with status 1;`,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			findings, _ := checkScalar(t, fault, nil)
			if !slices.ContainsFunc(findings,
				func(f learnercheck.Finding) bool { return strings.Contains(f.Text, want) }) {
				t.Errorf("%+v: one must contain %s", findings, want)
			}
		})
	}
}

func TestFindingsHaveTheirLines(t *testing.T) {
	findings, _ := checkScalar(t, "negative", nil)
	if len(findings) == 0 || findings[0].Request != `{"op":"end","run":2,"round":1}` ||
		findings[0].Response != `{"flops":-1}` {
		t.Errorf("%+v", findings)
	}
}

func TestHangingLearnersAreFound(t *testing.T) {
	findings, _ := checkScalar(t, "hang", func(c *learnercheck.Check) { c.Options.TimeoutS = 0.5 })
	expect.That(t, len(findings) != 0 && strings.Contains(findings[0].Text, "did not answer in 500ms"), "%+v", findings)
}

func TestLearnersThatStayAreFound(t *testing.T) {
	findings, _ := checkScalar(t, "stays", func(c *learnercheck.Check) { c.Grace = 100 * time.Millisecond })
	if len(findings) != 1 ||
		!strings.HasPrefix(findings[0].Text, "learner scalar: at the end of its input: did not exit") {
		t.Errorf("%+v", findings)
	}
}
