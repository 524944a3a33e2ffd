package fleets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/network"
)

// rankCorrelation returns Spearman's rho of distinct numbers.
func rankCorrelation(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	n, sum := float64(len(a)), 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return 1 - 6*sum/(n*(n*n-1))
}

func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	out := make([]float64, len(x))
	for r, i := range order {
		out[i] = float64(r)
	}
	return out
}

// standardError returns the standard error of Spearman's rho of n pairs: sqrt((1 +
// rho^2/2)/(n-3)) of its Fisher transform (Bonett and Wright, Psychometrika 2000), whose
// slope is 1/(1 - rho^2).
func standardError(rho float64, n int) float64 {
	return (1 - rho*rho) * math.Sqrt((1+rho*rho/2)/float64(n-3))
}

// someRows returns distinct numbers, so that ranks are distinct.
func someRows(n int) []int32 {
	rows := make([]int32, n)
	for device := range rows {
		rows[device] = int32(device)
	}
	s := rng.New(5, rng.Split, 0, 0)
	s.Shuffle(rows)
	return rows
}

// Within each class, the rank correlations of rate and speed, and of rows and speed, are
// as configured: within four standard errors, and exactly at the ends.
func TestCorrelationsReachTheirTargets(t *testing.T) {
	const n = 20_000
	rows := someRows(n)
	for _, c := range []struct{ link, data float64 }{{0, 0}, {0.3, 0}, {-0.6, 0.5}, {0.9, -0.9}, {0, 0.2}, {1, -1},
		{-1, 1}} {
		f := shared(0.3, 0.7)
		for k := range f.Classes {
			f.Classes[k].SpeedSpread, f.Classes[k].RateSpread = 0.5, 0.45
		}
		f.LinkSpeed, f.DataSpeed = c.link, c.data
		machines, links := f.Assemble(n, rows, 9)
		for k := range f.Classes {
			var speed, rate, data []float64
			for device, class := range machines.Class {
				if int(class) == k {
					speed, rate, data = append(speed, machines.Speed[device]), append(rate, links.Rate[device]),
						append(data, float64(rows[device]))
				}
			}
			for what, pair := range map[string]struct{ got, want float64 }{
				"rate and speed": {rankCorrelation(rate, speed), c.link},
				"rows and speed": {rankCorrelation(data, speed), c.data},
			} {
				tolerance := 4 * standardError(pair.want, len(speed))
				if math.Abs(pair.got-pair.want) > tolerance+1e-9 {
					t.Errorf("%+v: class %d: %s have a rank correlation of %.4f, must be %g within %.4f", c, k, what,
						pair.got, pair.want, tolerance)
				}
			}
		}
	}
}

// With any correlation with data, speed has mean 1 and the configured sigma/mu: within
// four standard errors, that of the deviation by the fourth moment of the numbers.
func TestCorrelationKeepsTheSpread(t *testing.T) {
	const n, cv = 20_000, 0.3
	for _, data := range []float64{0, 0.7, -1} {
		f := shared(1)
		f.Classes[0].SpeedSpread, f.Classes[0].RateSpread = cv, cv
		f.LinkSpeed, f.DataSpeed = 0.8, data
		machines, links := f.Assemble(n, someRows(n), 2)
		for what, x := range map[string][]float64{"speed": machines.Speed, "rate": links.Rate} {
			mean, second, fourth := 0.0, 0.0, 0.0
			for _, v := range x {
				mean += v / n
			}
			for _, v := range x {
				d := (v - mean) * (v - mean)
				second += d / n
				fourth += d * d / n
			}
			expect.That(t, math.Abs(mean-1) <= 4*cv/math.Sqrt(n), "data %g: mean %s %g, must be 1", data, what, mean)
			expect.That(t, math.Abs(second-cv*cv) <= 4*math.Sqrt((fourth-second*second)/n),
				"data %g: variance of %s %g, must be %g", data, what, second, cv*cv)
		}
	}
}

// One class with spreads equals the same values in [devices] and [network], bit for bit.
// One without spreads equals its profile.
func TestOneClassEqualsTheTables(t *testing.T) {
	const n, seed = 500, 7
	for _, c := range []struct{ speed, rate float64 }{{0, 0}, {0.5, 0}, {0, 0.45}, {0.5, 0.45}} {
		f := shared(1)
		f.Classes[0].SpeedSpread, f.Classes[0].RateSpread = c.speed, c.rate
		machines, links := f.Assemble(n, nil, seed)
		d, l := devices.Defaults(), network.Defaults()
		d.Spread, d.SpreadWidth, l.RateSpread = devices.LogNormal, c.speed, c.rate
		mixed, plain := devices.NewMixedProcessors(d, machines, 1), devices.NewProcessors(d, n, seed)
		mixedLinks, plainLinks := network.NewMixedLinks(l, links, seed), network.NewLinks(l, n, seed)
		for t_ := range n {
			if mixed.Rate(t_) != plain.Rate(t_) || mixed.ComputePower(t_, false) != plain.ComputePower(t_, false) ||
				mixed.IdlePower(t_) != plain.IdlePower(t_) {
				t.Fatalf("%+v: device %d: %v FLOP/s against %v", c, t_, mixed.Rate(t_), plain.Rate(t_))
			}
			if mixedLinks.Mbps(network.Down, t_) != plainLinks.Mbps(network.Down, t_) ||
				mixedLinks.Send(network.Up, t_, 3, 1, 1e4) != plainLinks.Send(network.Up, t_, 3, 1, 1e4) {
				t.Fatalf("%+v: the link of device %d differs", c, t_)
			}
		}
	}
}

// Device t of a larger fleet is the same device. It differs for another seed.
func TestAssembleGrowsWithoutChangingItsDevices(t *testing.T) {
	f, _ := BuiltIn("mixed")
	const few, many = 100, 1000
	a, la := f.Assemble(few, nil, 1)
	b, lb := f.Assemble(many, nil, 1)
	other, _ := f.Assemble(few, nil, 2)
	differ := 0
	for t_ := range few {
		expect.That(t, a.Class[t_] == b.Class[t_] && a.Speed[t_] == b.Speed[t_] && la.Rate[t_] == lb.Rate[t_],
			"device %d is another among %d than among %d", t_, few, many)
		if a.Class[t_] != other.Class[t_] {
			differ++
		}
	}
	expect.That(t, differ != 0, "two seeds give the same classes")
}

// Equal numbers of rows are ranked at random: scores are standard normal and
// uncorrelated with everything.
func TestScoresOfEqualRows(t *testing.T) {
	const n = 10_000
	z := scores(make([]int32, n), 1)
	number := make([]float64, n)
	second := 0.0
	for i := range z {
		number[i] = float64(i)
		second += z[i] * z[i] / n
	}
	if got := rankCorrelation(z, number); math.Abs(got) > 4*standardError(0, n) {
		t.Errorf("rank correlation with the number of the device %g, must be 0", got)
	}
	// The mean of the squared quantiles is less than 1 by about log(n)/n.
	expect.That(t, math.Abs(second-1) <= 2*math.Log(n)/n, "variance %g, must be 1", second)
}

// Classes have the values of their keys.
func TestClassesHaveTheirFigures(t *testing.T) {
	f := shared(0.5, 0.5)
	f.Classes[0] = Class{Name: "a", Share: 0.5, ClockGHz: 2, FlopsPerCycle: 3, IdleW: 0.1, ComputeW: 5,
		BatteryWh: devices.Mains, Link: "3g", RTTms: 90}
	f.Classes[1] = Class{Name: "b", Share: 0.5, Device: "phone-2020", BatteryWh: 3, ClockGHz: 1, Link: "lte",
		DownlinkMbps: 5, UplinkMbps: 4}
	c := config.NewChecker()
	if f.Validate(c); len(c.Problems()) > 0 {
		t.Fatal(c.Problems())
	}
	machines, links := f.Assemble(40, nil, 1)
	fleet, l := devices.NewMixedProcessors(devices.Defaults(), machines, 1),
		network.NewMixedLinks(network.Defaults(), links, 1)
	batteries := devices.NewMixedBatteries(devices.Defaults(), machines, 1, nil)
	expect.That(t, machines.Speed == nil && links.Rate == nil, "factors that are all 1 must be nil")
	joules := 0.0
	for t_, k := range machines.Class {
		got := fmt.Sprint(fleet.Rate(t_), fleet.IdlePower(t_), fleet.ComputePower(t_, true), l.Mbps(network.Down, t_),
			l.Mbps(network.Up, t_), l.Profile(t_).RTTms)
		want := fmt.Sprint(6e9, 0.1, 5., 1., 0.4, 90.)
		if k == 1 {
			joules += 3 * 3600
			want = fmt.Sprint(6e9, 0.3, 0.3+float64(0.32*(2.5-0.3)), 5., 4., 70.) // at half the clock
		}
		expect.That(t, got == want, "device %d of class %d: %s, must be %s", t_, k, got, want)
	}
	if got := batteries.Total().InitialJ; got != joules {
		t.Errorf("%g J in the batteries, must be %g", got, joules)
	}
}
