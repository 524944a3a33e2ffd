package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// sample returns a comparison with every kind of line.
func sample(t *testing.T) *Comparison {
	return compare(t, results.ToSuboptimalities(0.1),
		directory("runs/a", "[network]\nprofile = \"3g\"\n", runsOf("x", "MOCHA", nil, times{1: 2, 2: 4, 3: 3}),
			runsOf("x", "Mb|SGD", nil, times{1: 1})),
		directory("runs/b", "[network]\nprofile = \"lte\"\n", runsOf("x", "MOCHA", nil, times{1: 3, 2: 6, 5: 100})),
		directory("runs/c", "", runsOf("x", "MOCHA", nil, times{3: 0.12})),
		directory("runs/d", "", runsOf("x", "MOCHA", nil, times{1: math.NaN(), 2: 5})),
		directory("runs/e", "", runsOf("x", "MOCHA", nil, times{8: 6, 9: 6})),
		directory("runs/f", "", runsOf("x", "MOCHA", nil, times{1: math.NaN()})),
	)
}

func TestText(t *testing.T) {
	got := sample(t).Sections().Text(80)
	const want = `settings that differ

  setting            runs/a  runs/b  runs/c  runs/d  runs/e  runs/f
  -----------------------------------------------------------------
  network.profile      "3g"   "lte"       -       -       -       -

virtual time, bytes and energy to each target

  x: MOCHA
               to primal sub-optimality 1e-01
  directory    seeds  rounds        time                         ratio
  --------------------------------------------------------------------
  runs/a           3       2      3.00 s                            1x
  runs/b           3       2      36.3 s  1.50x [1.50, 1.50] (2 pairs)
  runs/c           1       2      120 ms                0.04x (1 seed)
  runs/d           2     > 2    > 52.5 s      > 25.6x median (2 pairs)
  runs/e           2       2      6.00 s   2.00x [1.50, 3.00] unpaired
  runs/f           1     > 2  > 1.67 min              > 50.0x (1 seed)

               to primal sub-optimality 1e-01
  directory       sent    energy
  ------------------------------
  runs/a         200 B    2.00 J
  runs/b         200 B    2.00 J
  runs/c         200 B    2.00 J
  runs/d       > 200 B  > 2.00 J
  runs/e         200 B    2.00 J
  runs/f       > 200 B  > 2.00 J

`
	const notes = `  only in runs/a: x: Mb|SGD
  rounds, time, bytes and energy: means over the seeds of a directory; time is
  virtual
  ratio: mean time divided by that of the first directory, over common seeds
  [low, high]: 95 % bootstrap interval, expanded percentiles of 15000 resamples
  median: a run did not reach the target, so that this is the median of the
  ratios of common seeds; its interval drops the same number of them at both
  ends, holds after any number of seeds with 95 %, and needs seven
  (docs/results.md)
  >: mean, unknown costs taken at the end of the run; never: a run stalled
  a ratio over one seed has no interval: run more, such as --set
  'run.seeds=[1,2,3,4,5,6]'
  intervals over so few seeds cover less than 95 % (docs/results.md)
  unpaired: the directories have no common seed; the ratio uses all seeds of
  both
`
	d := cmp.Diff(want+notes, got)
	expect.That(t, d == "", "%v", d)
}

func TestMarkdown(t *testing.T) {
	text := sample(t).Sections().Markdown()
	for _, want := range []string{
		"### settings that differ\n\n| setting | runs/a |", "\n| network.profile | \"3g\" | \"lte\" | - |",
		"### virtual time, bytes and energy to each target\n\n| directory | to primal sub-optimality 1e-01: " +
			"seeds | rounds | time | ratio | sent | energy |\n| :-- | --: | --: | --: | --: | --: | --: |\n" +
			"| **x: MOCHA** | | | | | | |\n| runs/a | 3 | 2 | 3.00 s | 1x | 200 B | 2.00 J |\n",
		"* only in runs/a: x: Mb\\|SGD\n* rounds",
	} {
		expect.That(t, strings.Contains(text, want), "%q is not in\n%s", want, text)
	}
	one := times{1: 2}
	same := compare(t, nil, directory("a", "", runsOf("x", "MOCHA", nil, one)),
		directory("b", "", runsOf("x", "MOCHA", nil, one)))
	if text := same.Sections().Markdown(); !strings.HasPrefix(text,
		"### no setting differs\n\n### virtual time, bytes and energy to each target\n\n|") {
		t.Error(text)
	}
}
