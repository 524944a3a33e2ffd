package federation

import (
	"fmt"
	"slices"
)

// choose selects the clients that the round asks.
func (f *Federation) choose() {
	f.selectClients()
	f.reports.ask(f.open.asked, f.round, f.clients.Now())
}

// selectClients selects clients for the round: all that do not still owe a response, or
// those of the available ones that the selector chooses.
func (f *Federation) selectClients() {
	s, all := &f.selection, f.selector == nil
	partial := len(f.open.late) > 0 || !all && f.clients.Unavailable() > 0
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
		f.open.asked = s.Uniform(s.Size, nil)
	} else {
		f.open.asked = f.selector.Select(s)
		f.checkSelected()
	}
}

// checkSelected puts the selected clients in order, and panics when the selector has
// broken its contract.
func (f *Federation) checkSelected() {
	s, name := &f.selection, f.setup.Config.Selection
	if len(f.open.asked) != s.Size {
		panic(fmt.Sprintf("federation: selector %s selects %d clients in round %d, must be %d", name, len(f.open.asked), s.Round+1, s.Size))
	}
	if !slices.IsSorted(f.open.asked) {
		slices.Sort(f.open.asked)
	}
	for i, t := range f.open.asked {
		switch {
		case t < 0 || int(t) >= len(f.devices) || f.devices[t].chosen || !f.clients.Available(int(t)):
			panic(fmt.Sprintf("federation: selector %s selects client %d in round %d, which is not available", name, t, s.Round+1))
		case i > 0 && t == f.open.asked[i-1]:
			panic(fmt.Sprintf("federation: selector %s selects client %d twice in round %d", name, t, s.Round+1))
		}
	}
}

// all returns the clients whose responses the open round takes, in order: those it
// asked, and those that still owe one from before. It is valid until the next call.
func (f *Federation) all() []int32 {
	if len(f.open.late) == 0 {
		return f.open.asked
	}
	f.open.merged = append(append(f.open.merged[:0], f.open.asked...), f.open.late...)
	slices.Sort(f.open.merged)
	return f.open.merged
}
