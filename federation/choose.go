package federation

import (
	"fmt"
	"slices"
)

// choose selects the clients that the round asks: all that do not still owe a
// response, or those of the available ones that the selector chooses.
func (f *Federation) choose() {
	s, all := &f.selection, f.selector == nil
	partial := len(f.carried) > 0 || !all && f.clients.Unavailable() > 0
	available := s.available[:0]
	if partial {
		for t := range f.devices {
			if !f.devices[t].chosen && (all || f.clients.Available(t)) {
				available = append(available, int32(t))
			}
		}
	}
	s.open(f.round, partial, available)
	if all {
		f.chosen = s.Uniform(s.Size, nil)
	} else {
		f.chosen = f.selector.Select(s)
		f.checkSelected()
	}
	f.reports.ask(f.chosen, f.round, f.clients.Now())
}

// checkSelected puts the selected clients in order, and panics when the selector has
// broken its contract.
func (f *Federation) checkSelected() {
	s, name := &f.selection, f.setup.Config.Selection
	if len(f.chosen) != s.Size {
		panic(fmt.Sprintf("federation: selector %s selects %d clients in round %d, must be %d", name, len(f.chosen), s.Round+1, s.Size))
	}
	if !slices.IsSorted(f.chosen) {
		slices.Sort(f.chosen)
	}
	for i, t := range f.chosen {
		switch {
		case t < 0 || int(t) >= len(f.devices) || f.devices[t].chosen || !f.clients.Available(int(t)):
			panic(fmt.Sprintf("federation: selector %s selects client %d in round %d, which is not available", name, t, s.Round+1))
		case i > 0 && t == f.chosen[i-1]:
			panic(fmt.Sprintf("federation: selector %s selects client %d twice in round %d", name, t, s.Round+1))
		}
	}
}

// all returns the clients whose responses the open round takes, in order: those it
// asked, and those that still owe one from before. It is valid until the next call.
func (f *Federation) all() []int32 {
	if len(f.carried) == 0 {
		return f.chosen
	}
	f.merged = append(append(f.merged[:0], f.chosen...), f.carried...)
	slices.Sort(f.merged)
	return f.merged
}
