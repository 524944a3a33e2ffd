package prediction

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"fedsim/internal/attemptlog"
)

// Models are the systems that a run is predicted with.
type Models struct {
	Calibrated *System
	// AtSpeed returns the calibrated system with all computations so many times as fast.
	AtSpeed func(speed float64) *System
	Nominal *System // FLOPs and bytes at nominal rates alone; nil: the log has none
	// Seeds is how often Calibrated is played, each time with other phases of polls, where these
	// are random; 0: once.
	Seeds int
}

// Checked is a measured run beside its predictions.
type Checked struct {
	Name      string
	Measured  *Played
	Predicted *Played // by the calibrated model, the first seed
	// Makespans are those of the calibrated model, by seed, in seconds.
	Makespans  []float64
	Calibrated Errors  // of the first seed; Makespan: of the mean over seeds
	Speed      float64 // of the run: how many times as fast as predicted it computed
	AtSpeed    Errors  // of the calibrated model, once Speed is known
	Nominal    *Errors // nil: not known
}

// Check predicts a run.
func Check(ctx context.Context, run *attemptlog.Run, by *Models) (*Checked, error) {
	c := &Checked{Name: run.Name, Measured: Measured(run)}
	on := *by.Calibrated
	for range max(1, by.Seeds) {
		played, err := Play(ctx, run, &on)
		if err != nil {
			return nil, err
		}
		if c.Predicted == nil {
			c.Predicted = played
		}
		c.Makespans = append(c.Makespans, played.Makespan)
		on.Seed++
	}
	c.Calibrated = Compare(c.Measured, c.Predicted)
	c.Calibrated.Makespan = stat.Mean(c.Makespans, nil)/c.Measured.Makespan - 1
	c.Speed = Speed(c.Measured, c.Predicted)
	played, err := Play(ctx, run, by.AtSpeed(c.Speed))
	if err != nil {
		return nil, err
	}
	c.AtSpeed = Compare(c.Measured, played)
	if by.Nominal != nil {
		played, err := Play(ctx, run, by.Nominal)
		if err != nil {
			return nil, err
		}
		e := Compare(c.Measured, played)
		c.Nominal = &e
	}
	return c, nil
}

// Ranking compares the order of runs by makespan: Kendall's tau between measured and predicted
// makespans, NaN for fewer than two runs, and the pairs of runs, by place, whose order is wrong.
func Ranking(all []*Checked) (tau float64, wrong [][2]int) {
	if len(all) < 2 {
		return math.NaN(), nil
	}
	var m, p []float64
	for _, c := range all {
		m, p = append(m, c.Measured.Makespan), append(p, stat.Mean(c.Makespans, nil))
	}
	for i := range all {
		for j := range i {
			if (m[i] < m[j]) != (p[i] < p[j]) {
				wrong = append(wrong, [2]int{j, i})
			}
		}
	}
	return stat.Kendall(m, p, nil), wrong
}

// Repeats returns the sets of runs, by place, that repeat one configuration: the same settings and
// the same attempts with the same messages and work. A set has two runs at least.
func Repeats(runs []*attemptlog.Run) [][]int {
	var sets [][]int
	of := map[string]int{}
	for i, run := range runs {
		key := configuration(run)
		if k, known := of[key]; known {
			sets[k] = append(sets[k], i)
			continue
		}
		of[key] = len(sets)
		sets = append(sets, []int{i})
	}
	return slices.DeleteFunc(sets, func(s []int) bool { return len(s) < 2 })
}

// configuration returns a text that is the same for runs that repeat each other.
func configuration(run *attemptlog.Run) string {
	text := fmt.Sprint(run.Overrides())
	for _, round := range training(run) {
		slices.SortFunc(round, func(a, b *attemptlog.Attempt) int { return compareClients(a, b) })
		for _, a := range round {
			text += fmt.Sprintln(a.Round, a.Client, a.BytesDown, a.BytesUp, a.LocalFLOPs(), a.Steps, a.DownMbps, a.UpMbps, a.GFLOPS)
		}
	}
	return text
}

func compareClients(a, b *attemptlog.Attempt) int {
	if a.Client < b.Client {
		return -1
	}
	if a.Client > b.Client {
		return 1
	}
	return 0
}
