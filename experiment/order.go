package experiment

import (
	"cmp"
	"fmt"
	"slices"
)

// repetition is the run of a job under one of its seeds.
type repetition struct {
	job  *job
	seed int // index into its seeds
}

// order lists the runs: all jobs under their first seed, then all under their second, and so
// on, so that a study that ends early has every point. Of runs that share a recording, which
// wait for each other, the first comes before the others of its seed. If a seed has fewer
// recordings than there are workers, several seeds come together.
func (r *runner) order(jobs []job) []repetition {
	if r.ctx.Err() != nil {
		return nil // winners are not known
	}
	var all []repetition
	first := map[string]bool{} // by what runs of the first seed share, also of other seeds
	waits := map[*job]bool{}
	for i := range jobs {
		j := &jobs[i]
		if len(j.places) == 0 {
			continue
		}
		for _, k := range j.places {
			all = append(all, repetition{j, k})
		}
		key, run := j.Key(), j.winner.WithSeed(j.Seeds[0])
		if r.recordable(&run, 1) {
			key = fmt.Sprintf("%+v", recordingKeyOf(&run))
		}
		waits[j] = first[key]
		first[key] = true
	}
	together := 1 + (r.pool.Size()-1)/max(len(first), 1)
	rank := func(x repetition) int {
		if waits[x.job] {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b repetition) int {
		return cmp.Or(a.seed/together-b.seed/together, rank(a)-rank(b), a.seed-b.seed)
	})
	return all
}
