package main

import (
	"fmt"
	"slices"
)

// sweep varies one quantity.
type sweep struct {
	name     string
	scenario string
	sizes    []int
	set      func(size int) []string // settings of the scenario
	events   bool                    // the varied quantity is the number of events, not the size
}

// sweeps returns all sweeps. Unless a sweep varies them, there are 30 features and a mean
// of 18 training rows.
func sweeps() []sweep {
	decades := []int{1000, 10_000, 100_000, 1_000_000}
	return []sweep{
		{name: "devices", scenario: "million", sizes: decades, set: devices},
		{name: "rows of each of 100 devices", scenario: "million", sizes: []int{20, 200, 2000, 20_000},
			set: func(n int) []string {
				return append(devices(100), rows(n, n)...)
			}},
		{name: "features of 300 devices", scenario: "million", sizes: []int{5, 50, 500, 5000},
			set: func(d int) []string {
				return append(devices(300), key("data.synthetic.features", d))
			}},
		{name: "events, without learning", scenario: "million-events", sizes: decades, events: true,
			set: func(m int) []string {
				return []string{key("data.synthetic.clients", m)}
			}},
	}
}

// devices returns the settings for m devices, with lambda m = 1 as in the scenario.
func devices(m int) []string {
	return []string{
		key("data.synthetic.clients", m),
		key("run.eval_clients", min(m, 1000)),
		fmt.Sprintf("problem.lambda=%g", 1/float64(m)),
	}
}

// rows returns the settings for the rows of a device, of which a quarter is held out. The
// keys count the other three quarters.
func rows(least, most int) []string {
	return []string{key("data.synthetic.rows_min", least*3/4), key("data.synthetic.rows_max", most*3/4)}
}

func key(name string, value int) string { return fmt.Sprintf("%s=%d", name, value) }

// upTo returns the sweeps without larger sizes.
func upTo(all []sweep, most int) []sweep {
	for i := range all {
		all[i].sizes = slices.DeleteFunc(slices.Clone(all[i].sizes), func(n int) bool { return n > most })
	}
	return all
}
