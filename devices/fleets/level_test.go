package fleets

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// The levels are valid fleets, whose times differ more from level to level. The page has their
// measures, and the levels of links and devices act on the times of trips and of computing alone.
func TestLevels(t *testing.T) {
	page := string(filetest.Read(t, "../../docs/time.md"))
	last := Measures{}
	for i, level := range Levels {
		f := Level(level, level)
		c := config.NewChecker()
		f.Validate(c)
		err := c.Err()
		expect.That(t, err == nil, "%s: %v", level, err)
		m := f.Measure(1000, 1)
		row := fmt.Sprintf("| `%s` | %.3f | %.4g | %.3g | %.3g | %.3g |", level, m.DevMCR, m.DevMCT, m.Compute,
			m.Transfer, m.Response)
		expect.That(t, strings.Contains(page, row), "docs/time.md has no row %s", row)
		expect.That(t, i == 0 || m.DevMCT > last.DevMCT && m.Compute > last.Compute && m.Transfer > last.Transfer,
			"%s: %+v after %+v", level, m, last)
		last = m
		d := Level(level, "none").Measure(1000, 1)
		expect.That(t, math.Abs(d.Transfer-1) <= 1e-12 && (d.Compute == 1 || i != 0), "devices %s: %+v", level, d)
		l := Level("none", level).Measure(1000, 1)
		expect.That(t, math.Abs(l.Compute-1) <= 1e-12, "links %s: %+v", level, l)
	}
	// By hand: middle devices are 30, 50 and 20 % of phones-2017, and its links 10, 45 and 45 %.
	shares := map[string]float64{}
	for _, k := range Level("middle", "middle").Classes {
		shares[k.Name] = k.Share
	}
	for name, want := range map[string]float64{"2017-2.1/3g": 0.03, "2017-6/lte": 0.225, "2017-20/wifi": 0.09} {
		expect.That(t, math.Abs(shares[name]-want) <= 1e-12 && len(shares) == 9,
			"%s has the share %v of %d, want %v", name, shares[name], len(shares), want)
	}
}

func TestLevelsInAScenario(t *testing.T) {
	f := Defaults()
	f.Links = "severe"
	c := config.NewChecker()
	if f.Validate(c); c.Err() != nil || f.Fleet().Description != Level("none", "severe").Description {
		t.Errorf("%v, %+v", c.Err(), f.Fleet())
	}
	opened, err := Open("level-mild")
	expect.That(t, err == nil && opened.Description == Level("mild", "mild").Description, "%+v, %v", opened, err)
}
