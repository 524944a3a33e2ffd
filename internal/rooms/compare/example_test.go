package compare_test

import (
	"fmt"
	"log"

	"fedsim/internal/rooms/compare"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Compare the time to a target in two run directories. Open reads a directory from disk.
func ExampleCompare() {
	c, err := compare.Compare([]*rundir.Results{
		finished("wifi", 10, 12, 9), finished("lte", 15, 17, 14),
	}, results.ToSuboptimalities(0.1))
	if err != nil {
		log.Fatal(err)
	}
	ratio := c.Cases[0].Rows[1].Cells[0].Ratio
	fmt.Printf("%s takes %.2f times as long, over %d pairs of seeds\n", c.Directories[1], ratio.Value, ratio.Seeds)
	// Output: lte takes 1.48 times as long, over 3 pairs of seeds
}

// finished returns a directory with a run per time to a sub-optimality of 0.1, in seconds.
func finished(name string, times ...float64) *rundir.Results {
	d := &rundir.Results{Dir: name}
	for i, t := range times {
		d.Runs = append(d.Runs, results.Run{
			Experiment: "example", Method: "MOCHA", Seed: uint64(i + 1), Status: results.Done,
			Rounds: []results.Round{{Suboptimality: 1}, {Round: 1, TimeS: t, Suboptimality: 0.1}},
		})
	}
	return d
}
