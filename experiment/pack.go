package experiment

import "slices"

// Pack joins short groups that follow each other until they take a time, as estimated, in
// seconds. It joins no group with a longer one. Before, it divides groups of many runs whose
// shared computation is a small part of their time.
func Pack(groups []Group, seconds float64) (packed []Group) {
	for _, whole := range groups {
		for _, g := range whole.divide(seconds) {
			if n := len(packed); n > 0 && packed[n-1].Cost.plus(g.Cost).Seconds <= seconds {
				last := &packed[n-1]
				last.Runs, last.Needs, last.Cost = append(last.Runs, g.Runs...), with(last.Needs, g.Needs...), last.Cost.plus(g.Cost)
				continue
			}
			g.Runs, g.Needs = slices.Clone(g.Runs), slices.Clone(g.Needs)
			packed = append(packed, g)
		}
	}
	for i := range packed {
		slices.Sort(packed[i].Runs)
	}
	return packed
}

// divide divides a group into groups of about equal numbers of runs, which take a time and of
// which each takes many times as long as what all of them compute again.
func (g *Group) divide(seconds float64) []Group {
	const worth = 20 // times as long
	rest := g.Cost.Seconds - g.Cost.load - g.Cost.shared
	parts := int(min(float64(len(g.Runs)), rest/max(seconds, worth*g.Cost.shared)))
	if parts < 2 || g.Cost.shared == 0 {
		return []Group{*g}
	}
	divided := make([]Group, parts)
	for i := range divided {
		runs := g.Runs[i*len(g.Runs)/parts : (i+1)*len(g.Runs)/parts]
		cost, share := g.Cost, float64(len(runs))/float64(len(g.Runs))
		cost.Seconds = cost.load + cost.shared + float64(rest*share)
		cost.Bytes -= float64(cost.results * (1 - share))
		cost.results *= share
		divided[i] = Group{Runs: runs, Needs: g.Needs, Cost: cost}
	}
	return divided
}

// PackTime returns the time of the groups that short ones are packed to: about a hundred groups
// share the work, for a balance between workers, but no group is longer than the longest time or
// shorter than what starting a group is worth.
func PackTime(groups []Group, longest float64) float64 {
	const share, least = 96, 0.2
	total := 0.0
	for _, g := range groups {
		total += g.Cost.Seconds - g.Cost.load
	}
	return min(longest, max(least, total/share))
}
