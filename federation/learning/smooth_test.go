package learning

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/mtl"
)

// smoothPlugin is MOCHA as a plug-in would have it whose theory asks for a smooth
// loss (paper, theorem 1). It is not registered, since other tests go through all
// methods that are.
func smoothPlugin() algorithms.Factory {
	mocha, _ := algorithms.Lookup("mocha")
	plugin := mocha
	plugin.Name = "smooth-only"
	plugin.Describe = func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
		d := mocha.Describe(o, shape)
		d.Name, d.Needs.Smooth = plugin.Name, true
		return d
	}
	return plugin
}

// A method that needs a smooth loss runs with those that are and is refused with
// the others, before anything runs.
func TestSmoothLossIsRequired(t *testing.T) {
	for _, loss := range mtl.ScoreLosses() {
		for _, method := range []string{"smooth-only", "mocha"} {
			setup := world(t, "mocha", federation.WaitForAll, func(s *Setup) {
				if method == "smooth-only" {
					s.Factory = smoothPlugin()
				}
				base := randomProblem(t, features, sizes...)
				cfg := base.Config
				cfg.Loss = loss
				p := withConfig(t, base, cfg)
				s.Problem = p
			})
			f, err := New(setup)
			if method == "smooth-only" && !slices.Contains(mtl.SmoothLosses(), loss) {
				want := fmt.Sprintf("problem.loss = %q: must be one of %s: smooth-only needs a smooth loss", loss,
					strings.Join(mtl.SmoothLosses(), ", "))
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
			out := finish(t, f)
			first, last := out.Rounds[0], out.Rounds[len(out.Rounds)-1]
			if !(last.Gap < first.Gap/3) || last.Gap < 0 {
				t.Errorf("%s with %s: the gap goes from %g to %g in %d rounds", method, loss, first.Gap, last.Gap,
					last.Round)
			}
		}
	}
}
