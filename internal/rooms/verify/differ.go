package verify

import (
	"fmt"
	"math"
	"strconv"

	"fedsim/results"
)

// Differ returns the first round and column in which a run differs from the one that is claimed, bit for bit; nil:
// none. The hashes of events and of the final model are the last.
func Differ(claimed, found *results.Run) *Difference {
	at := func(round int, column, claim, is string) *Difference {
		return &Difference{claimed.ID, round, column, claim, is}
	}
	for i := range min(len(claimed.Rounds), len(found.Rounds)) {
		a, b := &claimed.Rounds[i], &found.Rounds[i]
		for k := range results.RoundColumns {
			c := &results.RoundColumns[k]
			if x, y := c.Get(a), c.Get(b); x != y && !(x.IsUnknown() && y.IsUnknown()) {
				return at(a.Round, c.Name, valueText(x), valueText(y))
			}
		}
		for k := range max(len(a.Metrics), len(b.Metrics)) {
			if k >= len(a.Metrics) || k >= len(b.Metrics) || a.Metrics[k].FullName() != b.Metrics[k].FullName() {
				return at(a.Round, "named metrics", strconv.Itoa(len(a.Metrics)), strconv.Itoa(len(b.Metrics)))
			}
			if x, y := a.Metrics[k].Value, b.Metrics[k].Value; math.Float64bits(x) != math.Float64bits(y) {
				return at(a.Round, a.Metrics[k].FullName(), fmt.Sprint(x), fmt.Sprint(y))
			}
		}
	}
	switch {
	case len(claimed.Rounds) != len(found.Rounds):
		return at(-1, "rounds", strconv.Itoa(len(claimed.Rounds)), strconv.Itoa(len(found.Rounds)))
	case claimed.Status != found.Status:
		return at(-1, "status", string(claimed.Status), string(found.Status))
	case claimed.EventHash != found.EventHash:
		return at(-1, "event_hash", results.Hash(claimed.EventHash).String(), results.Hash(found.EventHash).String())
	case claimed.ModelHash != found.ModelHash:
		return at(-1, "model_hash", results.Hash(claimed.ModelHash).String(), results.Hash(found.ModelHash).String())
	default:
		return nil
	}
}

func valueText(v results.Value) string {
	switch v.Type() {
	case results.TextType:
		return strconv.Quote(v.Text())
	case results.WholeType:
		return strconv.FormatInt(v.Whole(), 10)
	default:
		return strconv.FormatFloat(v.Real(), 'g', -1, 64)
	}
}

// String says where the difference is: "run a/mocha/seed=1, round 3: time_s: 1.5 here, 1.4 claimed".
func (d *Difference) String() string {
	where := ""
	if d.Run != "" {
		where = "run " + d.Run
		if d.Round >= 0 {
			where += fmt.Sprintf(", round %d", d.Round)
		}
		where += ": "
	}
	return fmt.Sprintf("%s%s: %s here, %s claimed", where, d.Column, d.Found, d.Claimed)
}
