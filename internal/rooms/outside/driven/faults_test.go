package driven

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/pipe"
)

// A line that is too long is answered.
func TestLongLines(t *testing.T) {
	s := server{}
	if _, failed := s.answer(pipe.Line{Err: pipe.ErrTooLong}); failed == nil || failed.Code != CodeTooLong ||
		failed.Error() != "the line has more than 256 MiB: send fewer messages in a line" {
		t.Error(failed)
	}
}

// A line of 100 MB is answered, right or wrong, and the run continues.
func TestHugeLines(t *testing.T) {
	if testing.Short() {
		t.Skip("needs 0.5 GB")
	}
	var p place
	pad := strings.Repeat(" ", 100_000_000)
	answers, err := p.serve(t, hello, `{"op":"available"`+pad+`}`, pad+"nonsense", `{"op":"finish","state":"done"}`)
	expect.Must(t, err == nil && len(answers) == 4, "%d answers, %v", len(answers), err)
	if !strings.HasPrefix(answers[1], `{"now_ns":0,"available"`) || answers[2] != `{"error":{"code":"syntax",`+
		`"message":"byte 100000002: invalid character 'o' in literal null (expecting 'u'): `+
		`must be a JSON object","field":null,"fatal":false}}` {
		t.Errorf("%q", answers[1:3])
	}
}

// Garbage in the middle of a run changes nothing: the other lines have the same answers.
func TestGarbageChangesNothing(t *testing.T) {
	good := []string{
		hello,
		`{"op":"send","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1000,"flops":2e6,` +
			`"up_bytes":1000},{"id":2,"client":3,"down_bytes":1000,"flops":null,"up_bytes":null}]}`,
		`{"op":"wait","ids":[2]}`,
		`{"op":"work","id":2,"flops":1e6,"up_bytes":500}`,
		`{"op":"wait","count":1}`,
		`{"op":"wait"}`,
		`{"op":"close","round":1,"taken":[1,2],"metrics":[{"split":"test","name":"accuracy","value":0.75}]}`,
		`{"op":"exchange","round":2,"kind":"train","msgs":[{"id":3,"client":1,"down_bytes":7,"flops":0,` +
			`"up_bytes":0}],"until_ns":9000000000}`,
		`{"op":"close","round":2}`,
		`{"op":"finish","state":"done"}`,
	}
	wrong := []string{
		"", "{}", "garbage", "\x00\xff", `{"op":"hello","v":[1],"driver":"x","method":"y"}`,
		`{"op":"advance","until_ns":1}`,
		`{"op":"send","round":1,"kind":"train","msgs":[{"id":8,"client":1,"down_bytes":1,"flops":1,"up_bytes":1},` +
			`{"id":8,"client":2,"down_bytes":1,"flops":1,"up_bytes":1}]}`,
		`{"op":"send","round":7,"kind":"train","msgs":[]}`,
		`{"op":"send","round":1,"kind":"train","msgs":[{"id":9,"client":1,"down_bytes":1,"flops":1,"up_bytes":1},` +
			`{"id":10,"client":77,"down_bytes":1,"flops":1,"up_bytes":1}]}`,
		`{"op":"exchange","round":1,"kind":"train","msgs":[{"id":9,"client":1,"down_bytes":1,"flops":1,` +
			`"up_bytes":1}],"until_ns":1}`,
		`{"op":"exchange","round":2,"kind":"train","policy":true,"count":1,"msgs":[{"id":9,"client":1,"down_bytes":1,` +
			`"flops":1,"up_bytes":1}]}`,
		`{"op":"cancel","ids":[1,77]}`, `{"op":"work","id":77,"flops":1,"up_bytes":1}`, `{"op":"wait","ids":[77]}`,
		`{"op":"close","round":1,"taken":[77]}`, `{"op":"close","round":9}`,
		`{"op":"close","round":1,"taken":[],"metrics":[{"split":"test","name":"two words","value":1}]}`,
		`{"op":"close","round":1,"taken":[],"clients":[{"split":"test","name":"accuracy","clients":[4],"values":[1]}]}`,
		`{"op":"close","round":1,"taken":[],"clients":[{"split":"test","name":"accuracy","clients":[0,1],` +
			`"values":[1]}]}`,
		`{"op":"close","round":1,"taken":[],"metrics":[{"split":"test","name":"accuracy"}]}`,
		`{"op":"select","round":5}`,
	}
	var plain place
	want, err := plain.serve(t, good...)
	expect.NoError(t, err)
	for _, answer := range want {
		expect.Must(t, !strings.HasPrefix(answer, `{"error":`), "%v", answer)
	}
	random := rand.New(rand.NewPCG(1, 1))
	var lines []string
	var isGood []bool
	for i, line := range good {
		for _, k := range random.Perm(len(wrong)) {
			if i == 0 && strings.Contains(wrong[k], `"op":"hello"`) ||
				i < 3 && strings.Contains(wrong[k], `"until_ns":1}`) {
				continue // it would be right
			}
			lines, isGood = append(lines, wrong[k]), append(isGood, false)
		}
		lines, isGood = append(lines, line), append(isGood, true)
	}
	var p place
	got, err := p.serve(t, lines...)
	expect.Must(t, err == nil && len(got) == len(lines), "%d answers to %d lines, %v", len(got), len(lines), err)
	k := 0
	for i, answer := range got {
		switch failed := strings.HasPrefix(answer, `{"error":`); {
		case !isGood[i] && (!failed || !json.Valid([]byte(answer)) || strings.Contains(answer, `"fatal":true`)):
			t.Errorf("%s: %s", lines[i], answer)
		case isGood[i]:
			expect.That(t, answer == want[k], "%s:\n got %s\nwant %s", lines[i], answer, want[k])
			k++
		}
	}
	expect.That(t, p.finished.EventHash == plain.finished.EventHash,
		"the events are others: %x, %x", p.finished.EventHash, plain.finished.EventHash)
}

// Digests of many lines stay few, and still find a line that differs.
func TestDigestsStayFew(t *testing.T) {
	const lines = 3*mostMarks + 100
	text := func(i int) []byte { return fmt.Appendf(nil, "line %d", i) }
	first := expect.Value(newDigests(nil))(t)
	for i := range lines {
		expect.NoError(t, first.add(text(i)))
	}
	n := len(first.now.at)
	expect.That(t, n <= mostMarks && n >= mostMarks/4, "%d digests", n)
	for _, differs := range []int{-1, 0, 1, 777, mostMarks, lines - 1} {
		again := expect.Value(newDigests(nil))(t)
		again.old = first.now
		found := -1
		for i := range lines + 10 {
			line := text(i)
			if i == differs {
				line = []byte("other")
			}
			if err := again.add(line); err != nil {
				found = i
				break
			}
		}
		if differs < 0 && found >= 0 || differs >= 0 && (found < differs || found > differs+first.now.stride) {
			t.Errorf("line %d differs, found at %d", differs, found)
		}
	}
}

// Metrics that hello did not declare are declared by their first value. Observers hear of
// all rounds again.
func TestLateDeclarations(t *testing.T) {
	var p place
	expect.Value(p.serve(t, hello, `{"op":"close","round":0}`,
		`{"op":"close","round":1,"metrics":[{"split":"train","name":"loss","value":2,"better":"lower","unit":"nat"},`+
			`{"split":"","name":"epsilon","value":null}]}`,
		`{"op":"close","round":2,"metrics":[{"split":"train","name":"loss","value":1,"unit":"other"}],`+
			`"clients":[{"split":"test","name":"accuracy","clients":[2],"values":[0.5],"better":"higher"}]}`,
		`{"op":"finish","state":"done"}`))(t)
	got := fmt.Sprintf("%+v", p.finished.Metrics)
	want := "[{Split:train Name:loss Better:lower Unit:nat} {Split: Name:epsilon Better: " +
		"Unit:} {Split:test Name:accuracy Better:higher Unit:}]"
	expect.That(t, got == want, "got %s, want %s", got, want)
	var rounds []int
	for _, r := range p.rounds {
		rounds = append(rounds, r.Round)
	}
	if got := fmt.Sprint(rounds); got != "[0 0 1 0 1 2]" {
		t.Errorf("observed %s", got)
	}
	expect.That(t, p.finished.Rounds[1].Primal == 2 && p.finished.Rounds[2].Primal == 1, "%+v", p.finished.Rounds)
}
