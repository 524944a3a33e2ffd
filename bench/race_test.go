package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestContestantsTakeTurns(t *testing.T) {
	var order []string
	takes := func(name string, took ...float64) contestant {
		return contestant{name, func() (float64, error) {
			order = append(order, name)
			ns := took[0]
			took = took[1:]
			return ns, nil
		}}
	}
	took, err := race(3, []contestant{takes("a", 1, 2, 3), takes("b", 4, 8, 24)})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "ababab" {
		t.Errorf("turns %s, want ababab", got)
	}
	// 4/1, 8/2 and 24/3: the machine is slower in the second repetition, the peer in the
	// third.
	if r := ratios(took[1], took[0]); r.median != 4 {
		t.Errorf("median of the ratios %g, want 4", r.median)
	}
	failure := errors.New("broken")
	broken := contestant{"b", nil}
	broken.run = func() (float64, error) { return 0, failure }
	if _, err := race(1, []contestant{broken}); !errors.Is(err, failure) {
		t.Errorf("race ends with %v, want %v", err, failure)
	}
}

func TestSpread(t *testing.T) {
	sample := []float64{9, 1, 5, 3, 7}
	if s, want := spreadOf(sample), (spread{3, 5, 7}); s != want {
		t.Errorf("spread %v of 1, 3, 5, 7, 9, want %v", s, want)
	}
	if !slices.Equal(sample, []float64{9, 1, 5, 3, 7}) {
		t.Error("spread sorts the sample in place")
	}
	if s, want := spreadOf([]float64{4, 1, 2, 8}), (spread{1.75, 3, 5}); s != want {
		t.Errorf("spread %v of 1, 2, 4, 8, want %v", s, want)
	}
	if s, want := spreadOf([]float64{6}), (spread{6, 6, 6}); s != want {
		t.Errorf("spread %v of 6, want %v", s, want)
	}
}

func TestTableSaysWhatIsMissed(t *testing.T) {
	var out strings.Builder
	tab := newTable(&out, comparison)
	out.Reset()
	tab.add("work", nanoseconds, []float64{10, 10, 10}, "peer", []float64{40, 50, 2000}, 4.5)
	tab.add("work", nanoseconds, []float64{10, 10, 10}, "peer", []float64{20, 20, 20}, 4.5)
	tab.add("work", perSecond, []float64{10, 10, 10}, "peer", []float64{0.05, 0.05, 0.05}, 0)
	var cells []string
	for row := range strings.Lines(out.String()) {
		fields := strings.Split(row, "|")
		for k := range fields {
			fields[k] = strings.TrimSpace(fields[k])
		}
		cells = append(cells, strings.Join(fields[2:8], ","))
	}
	want := []string{
		"10 ns,peer,50 ns,5,4.5 to 102,4.5",
		"10 ns,peer,20 ns,2,2 to 2,4.5, missed",
		"100 M/s,peer,20000 M/s,0.005,0.005 to 0.005,-",
	}
	for k := range want {
		if k < len(cells) && cells[k] != want[k] {
			t.Errorf("row %d: %s, want %s", k, cells[k], want[k])
		}
	}
	if len(cells) != len(want) {
		t.Errorf("%d rows, want %d", len(cells), len(want))
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-repetitions", "0"}, {"surplus"}, {"-unknown"}} {
		var out, log strings.Builder
		if code := run(args, &out, &log); code != 2 || log.Len() == 0 || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %q", args, code, log.String())
		}
	}
}
