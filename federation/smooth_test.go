package federation

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
)

// smoothPlugin is MOCHA as a plug-in would have it whose theory asks for a smooth
// loss (paper, theorem 1). It is not registered, since other tests go through all
// methods that are.
func smoothPlugin() algorithms.Factory {
	mocha, _ := algorithms.Lookup("mocha")
	plugin := mocha
	plugin.Name = "smooth-only"
	plugin.Needs = func(o algorithms.Options) algorithms.Needs {
		needs := mocha.NeedsOf(o)
		needs.Smooth = true
		return needs
	}
	return plugin
}

// A method that needs a smooth loss runs with those that are and is refused with
// the others, before anything runs.
func TestSmoothLossIsRequired(t *testing.T) {
	smooth := map[string]bool{"smoothed-hinge": true, "squared-hinge": true, "logistic": true, "squared": true}
	for _, loss := range mtl.LossNames() {
		for _, method := range []string{"smooth-only", "mocha"} {
			setup := world(t, "mocha", WaitForAll, func(s *Setup) {
				if method == "smooth-only" {
					s.Factory = smoothPlugin()
				}
				base := randomProblem(t, features, sizes...)
				cfg := base.Config
				cfg.Loss = loss
				p, err := mtl.NewProblem(cfg, data.Split{Train: base.Train, Test: base.Test})
				if err != nil {
					t.Fatal(err)
				}
				s.Problem = p
			})
			f, err := New(setup)
			if method == "smooth-only" && !smooth[loss] {
				want := fmt.Sprintf("problem.loss = %q: must be one of smoothed-hinge, squared-hinge, logistic, squared: smooth-only needs a smooth loss", loss)
				if f != nil || err == nil || err.Error() != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
				if _, ok := errors.AsType[config.Problem](err); !ok {
					t.Errorf("%v is not a config.Problem", err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s with %s: %v", method, loss, err)
				continue
			}
			out, err := f.Run(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			first, last := out.Rounds[0], out.Rounds[len(out.Rounds)-1]
			if !(last.Gap < first.Gap/3) || last.Gap < 0 {
				t.Errorf("%s with %s: the gap goes from %g to %g in %d rounds", method, loss, first.Gap, last.Gap, last.Round)
			}
		}
	}
}
