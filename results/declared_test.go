package results

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

// toll is a room of the tests.
var toll = &Declared{Field: "toll", Amount: "grams", Title: "toll", Columns: []Column[Round]{
	{Name: "toll_g", Unit: "g", Label: "toll of all", Head: "toll", Doc: "the sum"},
	{Name: "toll_road_g", Unit: "g", Label: "toll of roads", Doc: "a part"},
}}

func init() {
	Declare(toll)
	Declare(
		&Declared{Field: "noise",
			Columns: []Column[Round]{{Name: "noise_s", Unit: "s", Label: "noise", Doc: "of another room"}}})
}

// tolled returns a round with a toll, known or not.
func tolled(r Round, g float64) Round {
	toll.Set(&r, g, math.NaN())
	return r
}

// Whatever sets a declared column of a copy of a round leaves the round as it is, and other columns too.
func TestCopiesOfARoundHaveTheirOwnValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := []Round{NewRound()}
		want := [][]float64{{math.NaN(), math.NaN(), math.NaN()}}
		columns := RoundColumns[len(RoundColumns)-3:]
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			of := rapid.IntRange(0, len(rounds)-1).Draw(t, "copy of")
			copied, values := rounds[of], append([]float64(nil), want[of]...)
			v := rapid.SampledFrom([]float64{0, 1, 2.5, math.NaN()}).Draw(t, "value")
			if i := rapid.IntRange(0, 3).Draw(t, "column"); i == 3 {
				toll.Set(&copied, v, 7)
				values[0], values[1] = v, 7
			} else {
				columns[i].Set(&copied, Real(v))
				values[i] = v
			}
			rounds, want = append(rounds, copied), append(want, values)
		}
		for k := range rounds {
			for i := range columns {
				if got := columns[i].Get(&rounds[k]); got != Real(want[k][i]) {
					t.Fatalf("%s of copy %d is %v, want %v", columns[i].Name, k, got.Real(), want[k][i])
				}
			}
		}
	})
}

// Files have a declared column if some round of some run does.
func TestKnownColumns(t *testing.T) {
	names := func(runs ...Run) (names []string) {
		for _, c := range KnownColumns(runs) {
			names = append(names, c.Name)
		}
		return names[len(RoundColumns)-3:]
	}
	plain, counted := Run{Rounds: []Round{{}, {}}}, Run{Rounds: []Round{{}, tolled(Round{}, 0)}}
	for want, runs := range map[string][]Run{"": {plain, {}}, "toll_g": {{}, plain, counted}} {
		got := names(runs...)
		expect.That(t, (want != "" || len(got) == 0) && (want == "" || reflect.DeepEqual(got, []string{want})),
			"the columns are %q, want %q", got, want)
	}
}
