package devices

import (
	"math"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

// slots is a charging schedule by seconds. The last value holds on.
type slots []bool

func (s slots) PluggedIn(_ int, at engine.Time) (bool, engine.Time) {
	i := min(int(at/second), len(s)-1)
	for k := i + 1; k < len(s); k++ {
		if s[k] != s[i] {
			return s[i], engine.Time(k) * second
		}
	}
	return s[i], engine.Never
}

// stepwise is the slow twin of a battery. It advances second by second; power and
// charger are constant within a second.
type stepwise struct {
	capacity, left, drained, charged, charger float64
	depleted                                  bool
}

func (s *stepwise) second(watts float64, plugged bool) {
	in, lives := 0.0, 1.0 // lives: until it is depleted
	if plugged {
		in = s.charger
	}
	if net := watts - in; !s.depleted && net > s.left {
		s.depleted, lives = true, s.left/net
	} else if s.depleted {
		lives = 0
	}
	s.drained += watts * lives
	s.charged += in * lives
	s.left += (in - watts) * lives
	if over := s.left - s.capacity; over > 0 {
		s.left, s.charged = s.capacity, s.charged-over
	}
	gain := min(in*(1-lives), s.capacity-s.left)
	s.left += gain
	s.charged += gain
}

// until depletes a device at EmptyAt and accounts for the time until now.
func until(b *Batteries, device int, now engine.Time) {
	for {
		due, ok := b.EmptyAt(device)
		if !ok || due > now {
			b.Account(device, now)
			return
		}
		b.Account(device, due)
		if again, ok := b.EmptyAt(device); ok && again == due {
			b.Deplete(device, due)
		}
	}
}

// Random power sequences under random schedules, accounted at random times, agree with
// the slow twin, and energy is conserved to 1e-9.
func TestBatteriesAgreeWithStepwise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const horizon = 200
		cfg := Defaults()
		// no battery is empty at a whole second
		capacity := rapid.Float64Range(20, 400).Draw(t, "capacity") + math.Pi/100
		cfg.BatteryWh = capacity / 3600
		cfg.InitialCharge = rapid.Float64Range(0.1, 1).Draw(t, "initial_charge")
		cfg.ChargeW = rapid.SampledFrom([]float64{0.7, 1.5, 4}).Draw(t, "charge_w")
		plan := make(slots, horizon)
		for k, state, left := 0, false, 0; k < horizon; k, left = k+1, left-1 {
			if left == 0 {
				state, left = !state, rapid.IntRange(1, 80).Draw(t, "plugged")
			}
			plan[k] = state
		}
		b := NewBatteries(cfg, 1, 1, plan)
		twin := stepwise{capacity: capacity, charger: cfg.ChargeW, left: b.Total().InitialJ}
		powers := rapid.SampledFrom([]float64{0, 0.3, 0.7, 1.06, 2.5, 6})
		var power [horizon]float64
		for now := 0; now < horizon; {
			if !b.Depleted(0) {
				load := PowerSequence{Watts: powers.Draw(t, "watts")}
				k := now
				for i := range load.Stages {
					load.Stages[i] = Stage{Length: engine.Time(rapid.IntRange(0, 12).Draw(t, "length")) * second,
						Watts: powers.Draw(t, "stage")}
					for end := k + int(load.Stages[i].Length/second); k < min(end, horizon); k++ {
						power[k] = load.Stages[i].Watts
					}
				}
				for ; k < horizon; k++ {
					power[k] = load.Watts
				}
				b.SetPowerSequence(0, engine.Time(now)*second, load)
			}
			for end := min(horizon, now+rapid.IntRange(1, 60).Draw(t, "span")); now < end; now++ {
				twin.second(power[now], plan[now])
				if now == end-1 || rapid.Bool().Draw(t, "account") {
					until(b, 0, engine.Time(now+1)*second)
				}
			}
			e := b.Total()
			in, out := e.InitialJ+e.ChargedJ, e.DrainedJ+e.LeftJ
			expect.Must(t, math.Abs(in-out) <= 1e-9*in, "at %d s: %+v: %g J in, %g J out or left", now, e, in, out)
			want := Energy{InitialJ: e.InitialJ, ChargedJ: twin.charged, DrainedJ: twin.drained, LeftJ: twin.left}
			// A battery is empty at a whole nanosecond.
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-7 }
			if b.Depleted(0) != twin.depleted || !near(e.ChargedJ, twin.charged) || !near(e.DrainedJ, twin.drained) ||
				!near(e.LeftJ, twin.left) {
				t.Fatalf("at %d s: depleted %t, %+v; by steps %t, %+v", now, b.Depleted(0), e, twin.depleted, want)
			}
		}
	})
}

// By default a phone is plugged in from 22 h to 6 h. At 0.6 W it would be depleted after 18.3 h; it lives for days, and
// has what 16 h leave of 11 Wh whenever it is plugged in.
func TestPhonesAreChargedAtNightByDefault(t *testing.T) {
	const hour = 3600 * second
	cfg := Defaults()
	b := NewBatteries(cfg, 1, 1, nil)
	expect.That(t, b.Charging(0, 0), "a phone is not plugged in at midnight")
	b.SetPower(0, 0, 0.6)
	for _, h := range []engine.Time{22, 46} {
		until(b, 0, h*hour)
		want := 39600 - 0.6*16*3600
		expect.That(t, math.Abs(b.Left(0)-want) <= 1e-6, "%g J left at %d h, want %g", b.Left(0), h, want)
	}
	until(b, 0, 48*hour)
	if spent := b.Spent(0); b.Depleted(0) || math.Abs(spent-0.6*48*3600) > 1e-6 {
		t.Errorf("after 48 h: depleted %t, %g J spent", b.Depleted(0), spent)
	}

	cfg.Charging, cfg.ChargeW = Never, 20
	b = NewBatteries(cfg, 1, 1, nil)
	b.SetPower(0, 0, 0.6)
	until(b, 0, 48*hour)
	if _, ok := b.RestoreAt(0); ok || !b.Depleted(0) || b.Total().ChargedJ != 0 {
		t.Errorf("never charged: depleted %t, %+v", b.Depleted(0), b.Total())
	}
}

// Each class has the charger of its profile, or all the one that is set: what an hour adds to
// an empty battery, and how long a depleted one needs for a fifth of it.
func TestClassesHaveTheirChargers(t *testing.T) {
	mix := Mix{Profiles: Profiles(), Class: []uint8{0, 1, 2, 3}}
	mix.Profiles[3].BatteryWh = 20
	for set, want := range map[float64][]float64{0: {5, 5, 10, 15}, 3: {3, 3, 3, 3}} {
		cfg := Defaults()
		cfg.ChargeW, cfg.InitialCharge = set, 0
		b := NewMixedBatteries(cfg, mix, 1, nil)
		cfg.Charging, cfg.InitialCharge = WhenDepleted, 1e-9
		alone := NewMixedBatteries(cfg, mix, 1, nil)
		for d, watts := range want {
			b.Account(d, 1800*second)
			if got := b.Left(d); got != watts*1800 {
				t.Errorf("charging.watts = %g: device %d has %g J after half an hour, want %g", set, d, got, watts*1800)
			}
			alone.SetPower(d, 0, 1)
			at, _ := alone.EmptyAt(d)
			alone.Deplete(d, at)
			restored, _ := alone.RestoreAt(d)
			if want := 0.2 * mix.Profiles[d].BatteryWh * 3600 / watts; math.Abs((restored-at).Seconds()-want) > 1e-8 {
				t.Errorf("charging.watts = %g: device %d is restored after %v, want %g s", set, d, restored-at, want)
			}
		}
	}
}

// Hours that all devices share are not stored for each. Nothing changes by a bit.
func TestSharedHoursAreNotStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := phone()
		cfg.Charging, cfg.ChargeW = Daily, rapid.SampledFrom([]float64{0.05, 0.5, 5}).Draw(t, "charge_w")
		cfg.ChargeHour = rapid.Float64Range(0, 23.9).Draw(t, "charge_hour")
		cfg.ChargeHours = rapid.Float64Range(0.01, 23.99).Draw(t, "charge_hours")
		shared, stored := NewBatteries(cfg, 2, 1, nil), NewBatteries(cfg, 2, 1, cfg.charging(1))
		expect.Must(t, shared.cells.changes == nil && stored.cells.changes != nil, "the test is void")
		now := engine.Time(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += engine.Time(rapid.Int64Range(0, int64(day/2)).Draw(t, "span"))
			d, watts := rapid.IntRange(0, 1).Draw(t, "device"),
				rapid.SampledFrom([]float64{0, 0.02, 0.3}).Draw(t, "watts")
			restore := rapid.Bool().Draw(t, "restore")
			for _, b := range []*Batteries{shared, stored} {
				until(b, d, now)
				if at, ok := b.RestoreAt(d); ok && at <= now && restore {
					b.Restore(d, now)
				}
				if !b.Depleted(d) {
					b.SetPower(d, now, watts)
				}
			}
			due, ok := shared.EmptyAt(d)
			again, same := stored.EmptyAt(d)
			expect.Must(t, due == again && ok == same, "empty at %v or %v", due, again)
			if a, b := shared.cell(d), stored.cell(d); a != b || shared.Spent(d) != stored.Spent(d) ||
				shared.Total() != stored.Total() {
				t.Fatalf("device %d at %v: %+v, stored %+v", d, now, a, b)
			}
		}
	})
}

// 22 h plus or minus 1 h, for 8 h. Every instant gives the same next change, in any
// order, and all days are alike.
func TestDailyCharging(t *testing.T) {
	const hour = 3600 * second
	for _, spread := range []float64{0, 1, 12} {
		cfg := Defaults()
		cfg.Charging, cfg.ChargeW, cfg.ChargeHourSpread = Daily, 5, spread
		plan := cfg.charging(7)
		differ := false
		for device := range 20 {
			plugged, begin := plan.PluggedIn(device, 3*day+13*hour) // an hour at which few are charged
			if plugged {
				begin = begin.Add(16 * hour)
			}
			again, _ := plan.PluggedIn(device, begin)
			expect.Must(t, again, "spread %g: device %d is not plugged in at %v", spread, device, begin)
			off := math.Abs(float64(begin%day-22*hour)) / float64(hour)
			if off = min(off, 24-off); off > spread {
				t.Errorf("spread %g: device %d is plugged in %g h from 22 h", spread, device, off)
			}
			differ = differ || off > 0
			for k := range 300 {
				at := engine.Time(k) * day / 100
				since := ((at-begin)%day + day) % day
				plugged, change := plan.PluggedIn(device, at)
				if want := since < 8*hour; plugged != want {
					t.Fatalf("spread %g: device %d at %v: plugged in = %t", spread, device, at, plugged)
				}
				want := at + day - since
				if plugged {
					want = at + 8*hour - since
				}
				expect.Must(t, change == want,
					"spread %g: device %d at %v: changes at %v, want %v", spread, device, at, change, want)
			}
		}
		expect.That(t, differ == (spread > 0), "spread %g: devices differ: %t", spread, differ)
	}
}

// While plugged in, a full device runs on its charger. The battery supplies the rest.
func TestFullBatteryIsNotDrained(t *testing.T) {
	cfg := phone() // 3600 J
	cfg.ChargeW, cfg.InitialCharge = 5, 0.9
	b := NewBatteries(cfg, 1, 1, slots{true})
	b.SetPower(0, 0, 2)
	if at, ok := b.EmptyAt(0); ok {
		t.Errorf("empty at %v", at)
	}
	b.AccountAll(600 * second) // 360 J are missing, 3 W go into the battery: full after 120 s
	got, want := b.Total(), (Energy{InitialJ: 3240, ChargedJ: 1560, DrainedJ: 1200, LeftJ: 3600})
	expect.That(t, got == want, "full: %+v, want %+v", got, want)
	b.SetPower(0, 600*second, 8)
	if at, ok := b.EmptyAt(0); !ok || at != 1800*second { // 3600 J at 3 W
		t.Errorf("empty at %v, want 1800 s", at)
	}
	b.AccountAll(1600 * second)
	got, want = b.Total(), (Energy{InitialJ: 3240, ChargedJ: 6560, DrainedJ: 9200, LeftJ: 600})
	expect.That(t, got == want, "half-way: %+v, want %+v", got, want)
}

// A depleted device with a schedule is restored once its charger has been plugged in for
// long enough, over several days if necessary. It stays plugged in.
func TestDepletedDeviceFollowsSchedule(t *testing.T) {
	const hour = 3600 * second
	cfg := phone() // 3600 J, back at 0.2
	cfg.Charging, cfg.ChargeHour, cfg.ChargeHours, cfg.ChargeW = Daily, 6, 1, 0.08
	b := NewBatteries(cfg, 1, 1, nil)
	b.SetPower(0, 0, 1)
	until(b, 0, 2*hour)
	expect.Must(t, b.Depleted(0) && b.Spent(0) == 3600, "depleted = %t, spent %g J", b.Depleted(0), b.Spent(0))
	var back engine.Time
	for range 20 {
		at, ok := b.RestoreAt(0)
		expect.Must(t, ok, "never comes back")
		if at == back {
			break
		}
		back = at
		b.Account(0, at)
	}
	// 720 J at 0.08 W are 2.5 h.
	want := 2*day + 6*hour + hour/2
	expect.Must(t, back == want, "restored at %v, want %v", back, want)
	b.Restore(0, back)
	b.SetPower(0, back, 0.02)
	b.AccountAll(back + hour) // half an hour at +0.06 W, half an hour at -0.02 W
	got := b.Left(0)
	expect.That(t, math.Abs(got-(720+108-36)) <= 1e-9, "%g J left, want 792", got)
}

// Level and Low do not account, and LowChangeAt finds the first instant at which Low
// changes.
func TestLowBattery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := phone()
		cfg.LowBattery = rapid.Float64Range(0.05, 0.9).Draw(t, "low_battery")
		cfg.InitialCharge = rapid.Float64Range(0, 1).Draw(t, "initial_charge")
		cfg.ChargeW = 5
		plugged := rapid.Bool().Draw(t, "plugged")
		b := NewBatteries(cfg, 1, 1, slots{plugged})
		powers := rapid.SampledFrom([]float64{0.01, 1.95, 4.9, 5.1, 60})
		load := PowerSequence{Watts: powers.Draw(t, "watts")}
		for i := range load.Stages {
			load.Stages[i] = Stage{Length: engine.Time(rapid.IntRange(0, 100).Draw(t, "length")) * second,
				Watts: powers.Draw(t, "stage")}
		}
		b.SetPowerSequence(0, 0, load)
		before := b.Total()
		end := 3000 * second
		if due, ok := b.EmptyAt(0); ok {
			end = min(end, due)
		}
		at, ok := b.LowChangeAt(0)
		low := b.Low(0, 0)
		for k := range engine.Time(50) {
			now := end * k / 50
			if got := b.Low(0, now); got != low && (!ok || now < at-1) { // after at, Low may change again
				t.Fatalf("low at %v: %t, changes at %v (%t)", now, got, at, ok)
			}
			if got, want := b.Low(0, now), b.Level(0, now) < cfg.LowBattery; got != want &&
				math.Abs(b.Level(0, now)-cfg.LowBattery) > 1e-9 {
				t.Fatalf("low at %v: %t at a level of %g", now, got, b.Level(0, now))
			}
		}
		if ok {
			// It is the first nanosecond, up to a rounding of the level.
			expect.Must(t, (at <= 1 || b.Low(0, at-2) == low) && b.Low(0, at+1) != low,
				"low changes at %v: %t before, %t then", at, b.Low(0, at-1), b.Low(0, at+1))
		}
		expect.Must(t, b.Total() == before, "asking has accounted for something")
	})
}

func TestChargingAllocatesNothing(t *testing.T) {
	cfg := Defaults()
	cfg.Charging, cfg.ChargeW, cfg.ChargeHourSpread, cfg.LowBattery = Daily, 5, 3, 0.2
	b := NewBatteries(cfg, 10, 1, nil)
	load := PowerSequence{Stages: [MaxStages]Stage{{Length: second, Watts: 1}, {Length: second, Watts: 0.5}},
		Watts: 0.2}
	b.SetPowerSequence(0, 0, load)
	now := engine.Time(0)
	if n := testing.AllocsPerRun(100, func() {
		now += 500 * second
		for d := range 10 {
			until(b, d, now)
			b.SetPowerSequence(d, now, load)
			b.Low(d, now)
			b.LowChangeAt(d)
		}
	}); n != 0 {
		t.Errorf("charging allocates %v times", n)
	}
}

// The hours at which devices are plugged in are uniform on both sides of the hour: the share before it
// is a half, and the mean distance from it, on either side, half the spread. 4,000 devices of one seed are within 4.5
// standard errors.
func TestChargingHoursSpreadToBothSides(t *testing.T) {
	const n, hour, spread = 4000, 3600e9, 6.0
	cfg := Defaults()
	cfg.Charging, cfg.ChargeW, cfg.ChargeHour, cfg.ChargeHours, cfg.ChargeHourSpread = Daily, 5, 12, 1, spread
	plan := cfg.charging(3)
	var counts [2]float64
	var sums [2]float64
	for device := range n {
		plugged, begin := plan.PluggedIn(device, 0) // at midnight nobody is
		expect.Must(t, !plugged && begin >= 6*hour && begin <= 18*hour,
			"device %d is plugged in from %v", device, begin)
		off, side := (float64(begin)/hour-12)/spread, 0
		if off > 0 {
			side = 1
		}
		counts[side]++
		sums[side] += math.Abs(off)
	}
	expect.That(t, math.Abs(counts[0]/n-0.5) <= 4.5*0.5/math.Sqrt(n),
		"%g of %d devices are plugged in before the hour", counts[0], n)
	for side := range counts {
		if mean := sums[side] / counts[side]; math.Abs(mean-0.5) > 4.5/math.Sqrt(12*counts[side]) {
			t.Errorf("side %d: the mean distance is %g of the spread", side, mean)
		}
	}
}
