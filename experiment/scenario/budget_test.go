package scenario

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

// Without run.rounds a run has 100 rounds, or with run.max_time_s no limit of them, also where an axis or a
// method sets the time.
func TestRoundsWithoutANumber(t *testing.T) {
	for source, want := range map[string][]int{
		"[methods.mocha]\n":                                    {100},
		"[run]\nouter = 3\n[methods.mocha]\n":                  {300},
		"[run]\nmax_time_s = 5\n[methods.mocha]\n":             {math.MaxInt},
		"[run]\nmax_time_s = 5\nrounds = 7\n[methods.mocha]\n": {7},
		"[methods.mocha]\n[methods.cocoa]\nset = { \"run.max_time_s\" = 5 }\n": {100,
			math.MaxInt},
		"[run]\nmax_time_s = 5\n[sweep]\n\"run.rounds\" = [9, 8]\n[methods.mocha]\n": {9, 8},
		"[run]\nmax_time_s = 5\n[methods.mocha]\n[methods.async-mocha]\n": {math.MaxInt,
			math.MaxInt},
		"[run]\nmax_co2_g = 5\n[energy]\ngrid=[\"generated\"]\n[methods.fedbuff]\n[methods.fedavg]\n": {100, 100},
	} {
		s, err := Parse("x.toml", []byte(source), nil)
		if err != nil {
			t.Errorf("%s\n%v", source, err)
			continue
		}
		text, err := s.Resolved()
		expect.NoError(t, err)
		again, err := Parse("x.toml", text, nil)
		expect.NoError(t, err)
		for i, rounds := range want {
			for _, of := range []*Scenario{s, again} {
				got := of.Experiments[0].Jobs[i].Candidates[0].Settings.Run.MostRounds()
				expect.That(t, got == rounds, "%s\nrun %d has %d rounds, want %d", source, i, got, rounds)
			}
		}
	}
}
