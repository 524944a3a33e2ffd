package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/engine"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/lognormal"
	"fedsim/network"
	"fedsim/results"
)

// FirstTries says how the first try of a client of a run ends, before anything runs: with its response, or given up by
// the timeout that fires first. Each client is alone on its links at their usual rates, which jitter alone varies.
type FirstTries struct {
	Run      string     `json:"run"`
	Relative bool       `json:"relative"` // times are in relative units, not seconds
	Clients  int        `json:"clients"`
	Looked   int        `json:"looked_at"` // clients looked at, evenly spaced
	Arrives  float64    `json:"arrives"`   // the share of tries that bring a response
	Ends     []FirstEnd `json:"ends"`      // by timeouts that are set, in the order in which they watch a try
	Worst    []FirstTry `json:"worst"`     // clients, those with the least chance first
}

// FirstEnd is a timeout that may be the first to end a try.
type FirstEnd struct {
	Key    string  `json:"key"`
	AfterS float64 `json:"after_s"`
	During string  `json:"during"` // a direction, or a try
	Share  float64 `json:"share"`  // of tries
}

// FirstTry is the first try of a client.
type FirstTry struct {
	Client    int     `json:"client"`
	Name      string  `json:"name,omitempty"`
	DownlinkS float64 `json:"downlink_s"` // usual lengths
	ComputeS  float64 `json:"compute_s"`
	UplinkS   float64 `json:"uplink_s"`
	Arrives   float64 `json:"arrives"` // probability
	Ends      string  `json:"ends"`    // the timeout that most likely ends it first; empty: none does
}

const (
	mostTries = 10_000 // clients looked at
	cells     = 64     // of the jitter of a downlink
	never     = 1e-6   // a probability below it is not told
	mostWorst = 10     // clients listed
)

// firstTriesOf returns the first tries of a run's clients with some names, or none.
func firstTriesOf(run *scenario.RunSpec, f *learning.Federation, names []string) *FirstTries {
	wire := &run.Settings.Network.WireConfig
	b := &FirstTries{Run: run.ID, Relative: run.Settings.Federation.Relative(), Clients: f.Clients().Len()}
	cutoff := f.Cutoff()
	t := tries{jitter: lognormal.Of(run.Settings.Network.Jitter), cutoff: cutoff}
	t.cutoff.Seconds = cmp.Or(cutoff.Seconds, math.Inf(1))
	for _, way := range [...]string{network.Down: "downlink", network.Up: "uplink"} {
		t.add(b, "network.wire.idle_timeout_s", wire.IdleTimeoutS, way)
		t.add(b, "network.wire.timeout_s", wire.TimeoutS, way)
	}
	t.add(b, cutoff.Key, cutoff.Seconds, "try")
	b.Looked = min(b.Clients, mostTries)
	for i := range b.Looked {
		client := i * b.Clients / b.Looked
		try, ends := t.of(f, client)
		for k, share := range ends {
			if at := t.at[k]; at >= 0 {
				b.Ends[at].Share += share / float64(b.Looked)
			}
		}
		b.Arrives += try.Arrives / float64(b.Looked)
		if most := slices.Index(ends[:], slices.Max(ends[:])); ends[most] > never {
			try.Ends = b.Ends[t.at[most]].text()
		}
		if client < len(names) {
			try.Name = names[client]
		}
		b.Worst = append(b.Worst, try)
	}
	slices.SortStableFunc(b.Worst, func(x, y FirstTry) int {
		return cmp.Or(cmp.Compare(x.Arrives, y.Arrives), cmp.Compare(y.total(), x.total()))
	})
	b.Worst = b.Worst[:min(mostWorst, len(b.Worst))]
	return b
}

func (t *FirstTry) total() float64 { return t.DownlinkS + t.ComputeS + t.UplinkS }

// tries holds what all tries of a run have in common.
type tries struct {
	jitter lognormal.Multiplier
	limits [2][2]float64 // by direction: seconds without a byte, and of a connection; +Inf: no timeout
	cutoff federation.Cutoff
	at     [5]int // the timeouts in FirstTries.Ends, or -1: idle and whole down, idle and whole up, the cutoff
	added  int
}

// add adds a timeout, if it is set.
func (t *tries) add(b *FirstTries, key string, seconds float64, during string) {
	i := t.added
	t.added++
	t.at[i] = -1
	if i < 4 {
		t.limits[i/2][i%2] = math.Inf(1)
	}
	if seconds == 0 {
		return
	}
	if i < 4 {
		t.limits[i/2][i%2] = seconds
	}
	t.at[i] = len(b.Ends)
	b.Ends = append(b.Ends, FirstEnd{Key: key, AfterS: seconds, During: during})
}

// of returns the first try of a client, and the probabilities that each timeout ends it first.
func (t *tries) of(f *learning.Federation, client int) (try FirstTry, ends [5]float64) {
	_, down, up := f.Usual(client)
	links := f.Clients().Links()
	length := func(d network.Direction, bytes float64) (seconds, quiet float64) {
		at := links.Expected(d, client, bytes)
		if at == engine.Never {
			return math.Inf(1), math.Inf(1)
		}
		return at.Seconds(), float64(at.Seconds() * links.LatencyShare(d, client, bytes))
	}
	downS, downQuiet := length(network.Down, down)
	upS, upQuiet := length(network.Up, up)
	compute := max(0, f.UsualResponse(client).Seconds()-downS-upS)
	try = FirstTry{Client: client, DownlinkS: downS, ComputeS: compute, UplinkS: upS}

	first, arrived := t.first(network.Down, downS, downQuiet, t.cutoff.Seconds)
	ends[0], ends[1], ends[4] = first[0], first[1], first[2]
	t.each(arrived, func(jitter, probability float64) {
		left := t.cutoff.Seconds - float64(downS*jitter)
		work := compute
		if t.cutoff.Fits {
			work = min(work, left-float64(upS*(1+t.cutoff.Margin)))
		}
		if left -= work; work < 0 || left < 0 {
			ends[4] += probability
			return
		}
		first, most := t.first(network.Up, upS, upQuiet, left)
		for i, end := range [...]int{2, 3, 4} {
			ends[end] += float64(first[i] * probability)
		}
		try.Arrives += float64((1 - t.jitter.Above(most)) * probability)
	})
	return try, ends
}

// first returns the probabilities that a transfer with a usual length and a latency in seconds is ended first by no
// byte for too long, by its length, or by the cutoff, which comes some seconds after its begin; and the factor of
// jitter up to which it arrives.
func (t *tries) first(d network.Direction, length, quiet, cutoff float64) (ends [3]float64, arrived float64) {
	at := [...]float64{t.limits[d][0], t.limits[d][1], cutoff}
	beyond := [...]float64{at[0] / quiet, at[1] / length, at[2] / length} // factors of jitter; +Inf of no latency
	order := []int{0, 1, 2}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(at[x], at[y]) })
	arrived = math.Inf(1)
	for _, k := range order {
		if from := beyond[k]; from < arrived { // NaN: no transfer, or no timeout
			ends[k] = max(0, t.above(from)-t.above(arrived))
			arrived = from
		}
	}
	return ends, arrived
}

// above returns the probability of a jitter above a factor.
func (t *tries) above(factor float64) float64 {
	if math.IsInf(factor, 1) {
		return 0
	}
	return t.jitter.Above(factor)
}

// each calls a function with factors of jitter up to one, and their probabilities.
func (t *tries) each(most float64, use func(jitter, probability float64)) {
	const widest = 6 // standard deviations
	from, above := t.jitter.At(-widest), 1.0
	for i := 1; i <= cells && from < most; i++ {
		z := float64(float64(2*widest*i)/cells) - widest
		to, below := min(t.jitter.At(z), most), 0.0
		if i < cells || to == most {
			below = t.above(to)
		}
		if above > below {
			use(min(t.jitter.At(z-float64(float64(widest)/cells)), to), above-below)
		}
		from, above = to, below
	}
}

func (e *FirstEnd) text() string {
	name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
	if e.During != "try" {
		name = e.During + " " + name
	}
	return fmt.Sprintf("%s = %g", name, e.AfterS)
}

// note says in a sentence which timeouts end first tries; it is empty if no timeout of tries or connections is set.
func (b *FirstTries) note() string {
	var says []string
	for i := range b.Ends {
		if e := &b.Ends[i]; !strings.HasSuffix(e.Key, "deadline_s") && e.Share > never {
			during := ""
			if e.During != "try" {
				during = " on the " + e.During
			}
			says = append(says, fmt.Sprintf("%s = %g%s in %s", e.Key, e.AfterS, during, percent(e.Share)))
		}
	}
	if len(says) == 0 {
		return ""
	}
	return fmt.Sprintf("run %s: first tries are given up by %s; each client alone on its links at their usual rates "+
		"(fedsim explain --before)", b.Run, strings.Join(says, ", by "))
}

// distinct returns IDs of runs without the parts that all have.
func distinct(ids []string) []string {
	parts := make([][]string, len(ids))
	for i, id := range ids {
		parts[i] = strings.Split(id, "/")
	}
	short := slices.Clone(ids)
	for i := range parts {
		var kept []string
		for k, part := range parts[i] {
			if !slices.ContainsFunc(parts, func(of []string) bool { return k >= len(of) || of[k] != part }) {
				continue
			}
			kept = append(kept, part)
		}
		if kept != nil {
			short[i] = strings.Join(kept, "/")
		}
	}
	return short
}

// SectionsOfFirstTries returns the first tries of runs, and the clients of one of them.
func SectionsOfFirstTries(list []*FirstTries, one *FirstTries) columns.Sections {
	var ends []FirstEnd
	for _, b := range list {
		for _, e := range b.Ends {
			e.Share = 0
			if !slices.Contains(ends, e) {
				ends = append(ends, e)
			}
		}
	}
	ids := make([]string, len(list))
	for i, b := range list {
		ids[i] = b.Run
	}
	ids = distinct(ids)
	lines := [][]string{{"run", "responds"}}
	for i := range ends {
		lines[0] = append(lines[0], ends[i].text())
	}
	for i, b := range list {
		line := []string{ids[i], percent(b.Arrives)}
		for _, of := range ends {
			text := "-"
			for _, e := range b.Ends {
				share := e.Share
				if e.Share = 0; e == of {
					text = percent(share)
				}
			}
			line = append(line, text)
		}
		lines = append(lines, line)
	}
	sections := columns.Sections{sectionOf("before the first round: what ends the first try of a client", lines)}
	sections[0].Notes = []string{"each client alone on its links at their usual rates, which jitter varies; further " +
		"connections and tries, losses, shared links and traces come on top"}
	if one.Looked < one.Clients {
		sections[0].Notes = append(sections[0].Notes, fmt.Sprintf("%d of %d clients, evenly spaced", one.Looked,
			one.Clients))
	}
	lines = [][]string{{"client", "downlink", "compute", "uplink", "responds", "most likely ended by"}}
	for _, w := range one.Worst {
		time := func(s float64) string { return results.TimeText(s, one.Relative) }
		lines = append(lines, []string{cmp.Or(w.Name, fmt.Sprint(w.Client)), time(w.DownlinkS), time(w.ComputeS),
			time(w.UplinkS), percent(w.Arrives), cmp.Or(w.Ends, "-")})
	}
	return append(sections, sectionOf("clients of "+one.Run+", those with the least chance first, at usual lengths",
		lines))
}

// sectionOf returns a table; the first line holds the headings.
func sectionOf(title string, lines [][]string) columns.Section {
	return columns.Section{Title: title, Table: columns.Table{
		Label: lines[0][0], Groups: []columns.Group{{Heads: lines[0][1:]}}, Blocks: []columns.Block{{Rows: lines[1:]}},
	}}
}

// percent returns a share in per cent.
func percent(share float64) string {
	switch {
	case share <= never:
		return "0 %"
	case share < 1e-3:
		return fmt.Sprintf("%.2g %%", 100*share)
	default:
		return fmt.Sprintf("%.1f %%", 100*share)
	}
}
