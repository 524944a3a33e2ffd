package experiment

import (
	"slices"
	"testing"

	"fedsim/results"
)

// Without learning, a run takes as long and moves as many bytes as with it, in single precision, too. The
// program is asked hello alone: it would exit at the next request, which is open.
func TestTimingOfAnExternalModel(t *testing.T) {
	t.Parallel()
	rows := []string{"data.source=external", "data.external.clients=3", "data.external.rows=[5, 5, 5]"}
	for name, c := range map[string]struct{ set, model []string }{
		"fedavg":   {nil, nil},
		"single":   {[]string{"compression.up=float16"}, []string{"-dtype=float32"}},
		"scaffold": {[]string{"methods.fedavg.algorithm=scaffold"}, nil},
		"ditto":    {[]string{"methods.fedavg.algorithm=ditto", "federation.clients_per_round=2"}, nil},
		"gossip":   {[]string{"methods.fedavg.algorithm=gossip"}, nil},
		"deadline": {[]string{"federation.protocol=deadline", "federation.deadline_s=0.08"}, nil},
		"rows":     {rows, []string{`-rows={"train":[5,5,5],"test":[5,5,5]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := append(slices.Clone(withClasses), "run.rounds=3", "overhead.s_per_gb=0.1")
			if name == "rows" {
				set = []string{"problem.regularizer_options.warm_start=0", "data.target=classes",
					"problem.regularizer=independent",
					"run.rounds=3"}
			}
			set = append(set, c.set...)
			learned := mustGather(t, parse(t, servedBy("", c.model...), set...), Options{})[0]
			timed := mustGather(t,
				parse(t, servedBy("", append(c.model, "-fault=open/exit/1")...), append(set, "run.mode=timing")...),
				Options{})[0]
			if timed.External.Program != learned.External.Program || timed.External.Program == "" ||
				timed.ProgramTime != nil {
				t.Errorf("the programs are %q and %q, with %+v", learned.External.Program, timed.External.Program,
					timed.ProgramTime)
			}
			costs := func(r results.Round) [4]float64 { return [4]float64{r.TimeS, r.FLOPs, r.BytesDown, r.BytesUp} }
			for i, r := range learned.Rounds {
				if got, want := costs(timed.Rounds[i]), costs(r); got != want || i > 0 && want[3] == 0 {
					t.Errorf("round %d: %v without learning, %v with it", i, got, want)
				}
			}
		})
	}
}
