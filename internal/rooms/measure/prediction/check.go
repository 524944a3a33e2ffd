package prediction

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"fedsim/federation"
	"fedsim/internal/rooms/measure/attemptlog"
)

// Models are the systems that a run is predicted with.
type Models struct {
	Calibrated *System
	// AtSpeed returns the calibrated system with all computations so many times as fast.
	AtSpeed         func(speed float64) *System
	Nominal         *System  // FLOPs and bytes at nominal rates alone; nil: the log has none
	Beyond, Missing []string // see Checked
	// Seeds is how often Calibrated is played, each time with other phases of polls, where these
	// are random; 0: once.
	Seeds int
}

// Checked is a measured run beside its predictions.
type Checked struct {
	Name       string  `json:"run"`
	Measured   *Played `json:"-"`
	Predicted  *Played `json:"-"` // by the calibrated model, the first seed
	MeasuredS  float64 `json:"measured_s"`
	PredictedS float64 `json:"predicted_s"` // mean over the seeds
	// Makespans are those of the calibrated model, by seed, in seconds. Where polls have random
	// phases, a further one is between the lowest and the highest of n with probability (n-1)/(n+1).
	Makespans  []float64 `json:"makespans_s"`
	Inside     *bool     `json:"inside"`     // the measured one is between them; nil: there is one seed
	Calibrated Errors    `json:"calibrated"` // of the first seed; Makespan: of the mean over seeds
	Ahead      *Ahead    `json:"ahead"`      // nil: nothing waits for polls
	Speed      float64   `json:"speed"`      // of the run: how many times as fast as predicted it computed
	AtSpeed    Errors    `json:"at_speed"`   // of the calibrated model, once Speed is known
	Nominal    *Errors   `json:"nominal"`    // nil: not known
	// Beyond are the sizes and the work of the run that lie beyond what was calibrated, and Missing the terms that they
	// need and that the calibration has not identified.
	Beyond    []string `json:"beyond"`
	Missing   []string `json:"not_identified"`
	ByNominal *Played  `json:"-"` // by nominal values; nil: not known
}

// Check predicts a run.
func Check(ctx context.Context, run *attemptlog.Run, by *Models) (*Checked, error) {
	c := &Checked{Name: run.Name, Measured: Measured(run), Beyond: by.Beyond, Missing: by.Missing}
	var err error
	if c.Predicted, c.Makespans, err = playSeeds(ctx, run, by.Calibrated, by.Seeds); err != nil {
		return nil, err
	}
	c.MeasuredS, c.PredictedS = c.Measured.Makespan, stat.Mean(c.Makespans, nil)
	if len(c.Makespans) > 1 {
		inside := slices.Min(c.Makespans) <= c.MeasuredS && c.MeasuredS <= slices.Max(c.Makespans)
		c.Inside = &inside
	}
	c.Calibrated = Compare(c.Measured, c.Predicted)
	c.Calibrated.Makespan = c.PredictedS/c.MeasuredS - 1
	if c.Ahead, err = playAhead(ctx, run, by.Calibrated, c.Measured); err != nil {
		return nil, err
	}
	c.Speed = Speed(c.Measured, c.Predicted)
	played, makespans, err := playSeeds(ctx, run, by.AtSpeed(c.Speed), by.Seeds)
	if err != nil {
		return nil, err
	}
	c.AtSpeed = Compare(c.Measured, played)
	c.AtSpeed.Makespan = stat.Mean(makespans, nil)/c.MeasuredS - 1
	if by.Nominal != nil {
		played, err := Play(ctx, run, by.Nominal)
		if err != nil {
			return nil, err
		}
		e := Compare(c.Measured, played)
		c.Nominal, c.ByNominal = &e, played
	}
	return c, nil
}

// playSeeds plays a run with several seeds, from that of a system on. It returns the first prediction, and the
// makespans by seed.
func playSeeds(ctx context.Context, run *attemptlog.Run, on *System,
	seeds int) (first *Played, makespans []float64, err error) {
	with := *on
	for range max(1, seeds) {
		played, err := Play(ctx, run, &with)
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = played
		}
		makespans = append(makespans, played.Makespan)
		with.Seed++
	}
	return first, makespans, nil
}

// Repeats returns the sets of runs, by place, that repeat one configuration: the same settings,
// clients and number of rounds, and the same messages, work and nominal values of each client.
// Which clients respond, and when, may differ by chance. A set has two runs at least.
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
	rounds, taken := training(run), 0
	var work []string // of the clients that responded
	for _, round := range rounds {
		for _, a := range round {
			if a.Outcome == attemptlog.Taken {
				taken++
			}
			if a.Responded() {
				nominal := [3]float64{a.DownMbps, a.UpMbps, a.GFLOPS}
				work = append(work, fmt.Sprintln(a.Client, a.BytesDown, a.BytesUp, a.LocalFLOPs(), a.Steps, nominal))
			}
		}
	}
	length := len(rounds)
	if withoutRounds(run) {
		length = taken
	}
	slices.Sort(work)
	if p := run.Setting("federation.protocol"); p != nil && p != federation.WaitForAll {
		work = slices.Compact(work) // how many messages a client has is chance
	}
	return fmt.Sprintln(run.Overrides(), run.Clients(), length, work)
}
