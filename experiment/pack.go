package experiment

import (
	"math"
	"slices"
)

// pack returns the items of a plan: what several items need, then the runs. What one item needs is made
// in it. Short items of runs that follow each other are joined until they take a time in seconds, as
// estimated: about a hundred items share the work, for a balance between workers, but none takes longer than
// the longest time, or less than what starting one is worth. Before, items of many runs whose shared
// computation is a small part of their time are divided.
func pack(needs, runs []Item, longest float64) []Item {
	p := packing{needs: slices.Clone(needs), made: make([]bool, len(needs))}
	for i := range runs {
		p.runs = append(p.runs, runs[i].divide(packTime(runs, longest))...)
	}
	p.absorb(math.Inf(1))
	p.join(packTime(p.runs, longest))
	p.packRuns(packTime(p.runs, longest))
	p.absorb(packTime(p.runs, longest))
	return p.items()
}

// packing is the work that is being packed.
type packing struct {
	needs []Item // in an order in which they can be made
	made  []bool // by index of needs: it is made in the item that needs it
	runs  []Item
}

// users returns the items that need each of needs.
func (p *packing) users() [][]*Item {
	users := make([][]*Item, len(p.needs))
	add := func(it *Item) {
		for _, n := range it.Needs {
			users[n] = append(users[n], it)
		}
	}
	for n := range p.needs {
		if !p.made[n] {
			add(&p.needs[n])
		}
	}
	for i := range p.runs {
		add(&p.runs[i])
	}
	return users
}

// absorb makes what one item needs in that item, if they take at most a time together, or if the item
// waits for nothing else: other work waits no longer.
func (p *packing) absorb(seconds float64) {
	users := p.users()
	for n := len(p.needs) - 1; n >= 0; n-- { // a need comes before what needs it
		if p.made[n] || len(users[n]) != 1 {
			continue
		}
		user, need := users[n][0], &p.needs[n]
		cost := user.Cost.plus(need.Cost)
		if user.Kind == KindRuns && len(user.Needs) > 1 && cost.Seconds > seconds {
			continue
		}
		p.make(n, user)
		user.Cost = cost
		for _, before := range need.Needs {
			others := slices.DeleteFunc(users[before], func(it *Item) bool { return it == need || it == user })
			users[before] = append(others, user)
		}
	}
}

// make makes a need in an item, which takes over the needs of that need.
func (p *packing) make(n int, in *Item) {
	p.made[n] = true
	in.Needs = with(slices.DeleteFunc(slices.Clone(in.Needs), func(i int) bool { return i == n }), p.needs[n].Needs...)
}

// join joins items of runs that need the same, and makes it in them, if all of it takes at most a time.
func (p *packing) join(seconds float64) {
	users := p.users()
	moved := map[*Item]*Item{} // items whose runs are in another one
	for n := range p.needs {
		var of []*Item
		cost := p.needs[n].Cost
		for _, user := range users[n] {
			for moved[user] != nil {
				user = moved[user]
			}
			if !slices.Contains(of, user) {
				of, cost = append(of, user), cost.plus(user.Cost)
			}
			if user.Kind != KindRuns || cost.Seconds > seconds {
				of = nil
				break
			}
		}
		if p.made[n] || len(of) == 0 {
			continue
		}
		first := of[0]
		for _, other := range of[1:] {
			first.Runs = slices.Concat(first.Runs, other.Runs)
			first.Needs = with(slices.Clone(first.Needs), other.Needs...)
			other.Runs, moved[other] = nil, first
		}
		first.Cost = cost
		p.make(n, first)
	}
	p.runs = slices.DeleteFunc(p.runs, func(it Item) bool { return len(it.Runs) == 0 })
}

// packRuns joins items of runs that follow each other until they take a time. It joins none with a
// longer one.
func (p *packing) packRuns(seconds float64) {
	var packed []Item
	for _, it := range p.runs {
		if n := len(packed); n > 0 && packed[n-1].Cost.plus(it.Cost).Seconds <= seconds {
			last := &packed[n-1]
			last.Runs, last.Needs = append(last.Runs, it.Runs...), with(last.Needs, it.Needs...)
			last.Cost = last.Cost.plus(it.Cost)
			continue
		}
		it.Runs, it.Needs = slices.Clone(it.Runs), slices.Clone(it.Needs)
		packed = append(packed, it)
	}
	for i := range packed {
		slices.Sort(packed[i].Runs)
	}
	p.runs = packed
}

// items returns the needs that are not made in other items, then the items of runs.
func (p *packing) items() (items []Item) {
	at := make([]int, len(p.needs))
	for n, need := range p.needs {
		if at[n] = len(items); !p.made[n] {
			items = append(items, need)
		}
	}
	items = append(items, p.runs...)
	for i := range items {
		items[i].Needs = slices.Clone(items[i].Needs)
		for k, n := range items[i].Needs {
			items[i].Needs[k] = at[n]
		}
	}
	return items
}

// divide divides an item of runs into items of about equal numbers of runs, which take a time and of
// which each takes many times as long as what all of them compute again.
func (it *Item) divide(seconds float64) []Item {
	const factor = 20 // times as long
	rest := it.Cost.Seconds - it.Cost.load - it.Cost.shared
	parts := int(min(float64(len(it.Runs)), rest/max(seconds, factor*it.Cost.shared)))
	if parts < 2 || it.Cost.shared == 0 {
		return []Item{*it}
	}
	divided := make([]Item, parts)
	for i := range divided {
		runs := it.Runs[i*len(it.Runs)/parts : (i+1)*len(it.Runs)/parts]
		cost, share := it.Cost, float64(len(runs))/float64(len(it.Runs))
		cost.Seconds = cost.load + cost.shared + float64(rest*share)
		cost.Bytes -= float64(cost.results * (1 - share))
		cost.results *= share
		divided[i] = Item{Kind: it.Kind, Runs: runs, Needs: it.Needs, Cost: cost}
	}
	return divided
}

// packTime returns the time that short items of runs are packed to: see pack.
func packTime(runs []Item, longest float64) float64 {
	const share, least = 96, 0.2
	total := 0.0
	for i := range runs {
		total += runs[i].Cost.Seconds - runs[i].Cost.load
	}
	return min(longest, max(least, total/share))
}
