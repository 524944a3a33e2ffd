package federation

// chargeAuthors charges every device of the round as the authors' drivers do: 8, 6 or 4
// units a step, the work of all tasks added up, or for a method that waits for everyone
// (CoCoA) the most steps of any task times their number. Every device is busy for as
// long as that sum.
func (f *Federation) chargeAuthors() {
	if f.setup.Config.Cost != Authors {
		return
	}
	total, most := 0.0, 0.0
	for _, t := range f.open.asked {
		steps := 0.0
		if f.devices[t].solved {
			steps = float64(f.devices[t].steps)
		}
		if f.traits.ChargedPasses > 0 {
			steps = f.traits.ChargedPasses * float64(f.minRows)
		}
		total += steps
		most = max(most, steps)
	}
	if f.method.About.Needs.AllClients {
		total = most * float64(len(f.open.asked))
	}
	f.clients.SetComputeTime(total * f.workload.AuthorUnits * authorUnit)
}

// authorUnit is one unit of the authors' drivers in seconds: the paper gives its
// estimated times in milliseconds.
const authorUnit = 1e-3
