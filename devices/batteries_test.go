package devices

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"

	"pgregory.net/rapid"
)

const second = engine.Time(1e9)

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		r := recover()
		expect.That(t, r != nil && strings.Contains(fmt.Sprint(r), want), "panic is %v, want one with %q", r, want)
	}()
	f()
}

// phone returns a table whose battery holds 3600 J and is never charged.
func phone() Config {
	cfg := Defaults()
	cfg.BatteryWh, cfg.Charging = 1, Never
	return cfg
}

func TestABatteryRunsDownAndIsCharged(t *testing.T) {
	cfg := phone()
	cfg.Charging, cfg.InitialCharge, cfg.ChargeW, cfg.ChargeDelayS, cfg.ReturnLevel = WhenDepleted, 0.5, 10, 60, 0.25
	b := NewBatteries(cfg, 2, 1, nil)
	if at, ok := b.EmptyAt(0); ok {
		t.Errorf("a device that draws nothing is empty at %v", at)
	}
	b.SetPower(0, 0, 2)
	b.SetPower(0, 100*second, 4) // 200 J of 1800 J are used: 400 s remain
	at, ok := b.EmptyAt(0)
	expect.Must(t, ok && at == 500*second, "empty at %v, want 500 s", at)
	if _, ok := b.RestoreAt(0); ok || b.Depleted(0) {
		t.Error("the device is restored before it is depleted")
	}
	b.Deplete(0, at)
	expect.That(t, b.Level(0, at) == 0 && b.Spent(0) == 1800 && b.Depleted(0),
		"depleted: level %g, spent %g J", b.Level(0, at), b.Spent(0))
	if at, ok := b.EmptyAt(0); ok {
		t.Errorf("a depleted battery is empty again at %v", at)
	}
	back, ok := b.RestoreAt(0) // 60 s, then 900 J at 10 W
	expect.Must(t, ok && back == 650*second, "restored at %v, want 650 s", back)
	b.AccountAll(560 * second)
	expect.That(t, b.Level(0, 560*second) == 0, "level %g when the charger is plugged in", b.Level(0, 560*second))
	b.AccountAll(590 * second) // 30 s of charging, then 10 s more: nothing is counted twice
	b.AccountAll(600 * second)
	expect.That(t, math.Abs(b.Level(0, 600*second)-400./3600) <= 1e-12,
		"level %g after 40 s of charging, want 400 J of 3600 J", b.Level(0, 600*second))
	b.Restore(0, back)
	if at, ok := b.EmptyAt(0); ok {
		t.Errorf("a restored device draws nothing yet, but is empty at %v", at)
	}
	expect.That(t, b.Level(0, back) == 0.25 && !b.Depleted(0) && b.Spent(0) == 1800,
		"restored: level %g, spent %g J", b.Level(0, back), b.Spent(0))
	b.SetPower(0, back, 9)
	if at, _ := b.EmptyAt(0); at != 750*second {
		t.Errorf("empty again at %v, want 750 s", at)
	}
	b.AccountAll(700 * second)
	got, want := b.Total(), (Energy{InitialJ: 3600, ChargedJ: 900, DrainedJ: 2250, LeftJ: 2250})
	expect.That(t, got == want, "total %+v, want %+v", got, want)
}

// A later restoration finds more charge, but never more than full.
func TestLateRestorationFindsMore(t *testing.T) {
	for _, c := range []struct {
		wait  engine.Time
		level float64
	}{{0, 0.2}, {36 * second, 0.3}, {1e6 * second, 1}} {
		cfg := phone()
		cfg.Charging, cfg.ChargeW = WhenDepleted, 10
		b := NewBatteries(cfg, 1, 1, nil)
		b.SetPower(0, 0, 3600)
		b.Deplete(0, second)
		at, _ := b.RestoreAt(0)
		b.Restore(0, at+c.wait)
		expect.That(t, math.Abs(b.Level(0, at+c.wait)-c.level) <= 1e-12,
			"restored %v late: level %g, want %g", c.wait, b.Level(0, at+c.wait), c.level)
	}
}

func TestWithoutAChargerADeviceStaysDepleted(t *testing.T) {
	b := NewBatteries(phone(), 1, 1, nil)
	b.SetPower(0, 0, 1)
	at, _ := b.EmptyAt(0)
	b.Deplete(0, at)
	if at, ok := b.RestoreAt(0); ok {
		t.Errorf("restored at %v", at)
	}
	b.AccountAll(at + second)
	expect.That(t, b.Level(0, at+second) == 0 && b.Total().ChargedJ == 0,
		"level %g without a charger", b.Level(0, at+second))
}

func TestMainsNeverEnd(t *testing.T) {
	cfg := Defaults()
	cfg.Profile = "raspberry-pi-4"
	b := NewBatteries(cfg, 1, 1, nil)
	b.SetPower(0, 0, 7)
	b.AccountAll(1e9 * second)
	at, ok := b.EmptyAt(0)
	expect.That(t, !ok, "mains are empty at %v", at)
	expect.That(t, b.Spent(0) == 7e9 && b.Level(0, 1e9*second) == 1,
		"spent %g J, level %g; want 7e9, 1", b.Spent(0), b.Level(0, 1e9*second))
	got, want := b.Total(), (Energy{ChargedJ: 7e9, DrainedJ: 7e9})
	expect.That(t, got == want, "total %+v, want %+v", got, want)
}

func TestAnEmptyStart(t *testing.T) {
	cfg := phone()
	cfg.Charging, cfg.InitialCharge, cfg.ChargeW = WhenDepleted, 0, 720
	b := NewBatteries(cfg, 1, 1, nil)
	if at, ok := b.EmptyAt(0); !ok || at != 0 {
		t.Fatalf("empty at %v, want the start", at)
	}
	b.Deplete(0, 0)
	if at, ok := b.RestoreAt(0); !ok || at != second { // 0.2 of 3600 J at 720 W
		t.Errorf("restored at %v, want 1 s", at)
	}
}

func TestInitialChargeSpreads(t *testing.T) {
	cfg := phone()
	cfg.InitialCharge, cfg.InitialChargeSpread = 0.6, 0.3
	const n = 10_000
	b := NewBatteries(cfg, n, 3, nil)
	sum := 0.0
	for d := range n {
		level := b.Level(d, 0)
		expect.Must(t, level >= 0.3 && level <= 0.9, "device %d starts at %g", d, level)
		sum += level
	}
	if mean := sum / n; math.Abs(mean-0.6) > 4*0.3/math.Sqrt(3*n) { // four standard errors
		t.Errorf("mean initial charge %g, want 0.6", mean)
	}
	expect.That(t, b.Level(1, 0) != b.Level(2, 0), "two devices start with the same charge")
}

// Accounting in between, as at the end of each round, must not move the instant at which
// a battery is empty: the caller has an event there.
func TestAccountingDoesNotMoveTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBatteries(phone(), 1, 1, nil)
		b.SetPower(0, 0, rapid.Float64Range(0.01, 1e4).Draw(t, "watts"))
		end, _ := b.EmptyAt(0)
		now := engine.Time(0)
		for range rapid.IntRange(0, 30).Draw(t, "accounts") {
			now = engine.Time(rapid.Int64Range(int64(now), int64(end)).Draw(t, "now"))
			b.AccountAll(now)
			at, _ := b.EmptyAt(0)
			expect.Must(t, at == end, "empty at %d ns, was %d ns", at, end)
		}
		b.Deplete(0, end)
		expect.Must(t, b.Level(0, end) == 0 && math.Abs(b.Spent(0)/3600-1) <= 1e-12,
			"level %g, spent %g J at the end, want 0, 3600", b.Level(0, end), b.Spent(0))
	})
}

// The battery is empty at EmptyAt and not a nanosecond before.
func TestEmptyAtIsTheFirstEmptyNanosecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Below 1e6 s a nanosecond is well above the rounding of a float64.
		watts := rapid.Float64Range(0.01, 1e6).Draw(t, "watts")
		b := NewBatteries(phone(), 1, 1, nil)
		b.SetPower(0, 0, watts)
		end, _ := b.EmptyAt(0)
		expect.Must(t, watts*end.Seconds() >= 3600*(1-1e-15),
			"%g W empty 3600 J in %d ns: %g J", watts, end, watts*end.Seconds())
		b.AccountAll(end - 1)
		expect.Must(t, watts*(end-1).Seconds() >= 3600*(1-1e-15) || b.Level(0, end-1) > 0,
			"empty a nanosecond before %d ns", end)
	})
}

// Random histories of power, depletion and restoration: energy is conserved, never
// negative and never above the capacity.
func TestEnergyIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Defaults()
		cfg.BatteryWh = rapid.SampledFrom([]float64{Mains, 1e-6, 0.1, 11}).Draw(t, "battery_wh")
		cfg.InitialCharge = rapid.Float64Range(0, 1).Draw(t, "initial_charge")
		cfg.Charging = rapid.SampledFrom([]string{Never, WhenDepleted}).Draw(t, "charging")
		cfg.ChargeW = rapid.SampledFrom([]float64{1e-3, 10}).Draw(t, "charge_w")
		cfg.ChargeDelayS = rapid.Float64Range(0, 100).Draw(t, "charge_delay_s")
		cfg.ReturnLevel = rapid.Float64Range(0.01, 1).Draw(t, "return_level")
		const n = 3
		b := NewBatteries(cfg, n, 1, nil)
		now := engine.Time(0)
		check := func() {
			for d := range n {
				l := b.Level(d, now)
				expect.Must(t, l >= 0 && l <= 1 && b.Spent(d) >= 0, "device %d: level %g, spent %g J", d, l, b.Spent(d))
			}
			e := b.Total()
			in, out := e.InitialJ+e.ChargedJ, e.DrainedJ+e.LeftJ
			expect.Must(t, math.Abs(in-out) <= 1e-9*in, "%+v: %g J in, %g J out or left", e, in, out)
		}
		for range rapid.IntRange(20, 80).Draw(t, "steps") {
			next := now + engine.Time(rapid.Int64Range(0, int64(200*second)).Draw(t, "span"))
			// Deplete the devices whose batteries are empty by then, and restore those
			// that the history does not delay.
			for d := range n {
				for {
					if at, ok := b.EmptyAt(d); ok && at <= next {
						b.Deplete(d, at)
					} else if at, ok := b.RestoreAt(d); ok && at <= next && rapid.Bool().Draw(t, "revive") {
						b.Restore(d, max(at, now))
						// As the simulation does: a restored device draws idle power, so
						// a tiny battery is empty again at once.
						b.SetPower(d, max(at, now), 0)
					} else {
						break
					}
				}
			}
			now = next
			d := rapid.IntRange(0, n-1).Draw(t, "device")
			if !b.Depleted(d) {
				b.SetPower(d, now, rapid.SampledFrom([]float64{0, 1e-9, 0.3, 1.95, 1e4}).Draw(t, "watts"))
			}
			if rapid.Bool().Draw(t, "account") {
				for d := range n {
					if at, ok := b.EmptyAt(d); ok && at <= now {
						b.Deplete(d, at)
					}
				}
				b.AccountAll(now)
			}
			check()
		}
	})
}

func TestMisuseOfBatteries(t *testing.T) {
	fresh := func() *Batteries {
		b := NewBatteries(phone(), 1, 1, nil)
		b.SetPower(0, 0, 3600)
		return b
	}
	mustPanic(t, "device 0 draws -1 W: must be a number, not negative", func() { fresh().SetPower(0, 0, -1) })
	mustPanic(t, "device 0 draws NaN W", func() { fresh().SetPower(0, 0, math.NaN()) })
	mustPanic(t, "device 0 is up at 1.000000001s: its battery was empty at 1s",
		func() { fresh().SetPower(0, second+1, 1) })
	mustPanic(t, "device 0 is up at 2s", func() { fresh().AccountAll(2 * second) })
	mustPanic(t, "device 0 is depleted at 999.999999ms: its battery is empty at 1s",
		func() { fresh().Deplete(0, second-1) })
	mustPanic(t, "device 0 is restored at 1s: must not be before never", func() { fresh().Restore(0, second) })
	b := fresh()
	b.Deplete(0, second)
	mustPanic(t, "device 0 draws power at 1s: it is depleted", func() { b.SetPower(0, second, 1) })
	mustPanic(t, "its energy is accounted up to 1s", func() { b.AccountAll(second - 1) })
}

// Spent energy is gone at once, at most the energy left, and EmptyAt moves forward.
func TestSpend(t *testing.T) {
	b := NewBatteries(phone(), 1, 1, nil)
	b.SetPower(0, 0, 6)
	b.Spend(0, 100*second, 1800)
	if at, _ := b.EmptyAt(0); at != 300*second || b.Spent(0) != 2400 {
		t.Errorf("empty at %v, %g J spent; want 300 s, 2400 J", at, b.Spent(0))
	}
	b.Spend(0, 200*second, 1000)
	if at, ok := b.EmptyAt(0); !ok || at != 200*second || b.Spent(0) != 3600 {
		t.Errorf("empty at %v, %g J spent; want 200 s, 3600 J", at, b.Spent(0))
	}
	b.Deplete(0, 200*second)
	mustPanic(t, "device 0 spends energy at 3m20s: it is depleted", func() { b.Spend(0, 200*second, 1) })
	cfg := Defaults()
	cfg.BatteryWh = Mains
	m := NewBatteries(cfg, 1, 1, nil)
	m.Spend(0, second, 5)
	got, want := m.Total(), (Energy{ChargedJ: 5, DrainedJ: 5})
	expect.That(t, got == want, "on mains: %+v, want %+v", got, want)
	mustPanic(t, "device 0 spends -1 J", func() { m.Spend(0, second, -1) })
}

// Power changes from SetNextPower give the same energies, to the bit, as a stored
// sequence: on mains, with a battery and with a charger, with or without accounting in
// between.
func TestNextPowerMatchesStoredSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := phone()
		cfg.BatteryWh = rapid.SampledFrom([]float64{0, 1}).Draw(t, "battery")
		cfg.InitialCharge, cfg.LowBattery = 0.9, 0.5
		cfg.Charging, cfg.ChargeW = rapid.SampledFrom([]string{Never, WhenDepleted}).Draw(t, "charging"), 3
		stored, asked := NewBatteries(cfg, 1, 1, nil), NewBatteries(cfg, 1, 1, nil)
		var at engine.Time
		var then float64
		asked.SetNextPower(func(int) (engine.Time, float64) { return at, then })
		now := engine.Time(0)
		for range rapid.IntRange(1, 8).Draw(t, "loads") {
			first, later := rapid.Float64Range(0, 3).Draw(t, "first"), rapid.Float64Range(0, 3).Draw(t, "then")
			length := engine.Time(rapid.Int64Range(1, int64(60*second)).Draw(t, "length"))
			if first == later {
				continue // no change
			}
			stored.SetPowerSequence(0, now,
				PowerSequence{Stages: [MaxStages]Stage{{Length: length, Watts: first}}, Watts: later})
			asked.Account(0, now)
			at, then = now.Add(length), later
			asked.SetPower(0, now, first)
			for range rapid.IntRange(0, 3).Draw(t, "looks") {
				now = now.Add(engine.Time(rapid.Int64Range(0, int64(60*second)).Draw(t, "pause")))
				if empty, ok := stored.EmptyAt(0); ok && now > empty {
					return
				}
				expect.Must(t, stored.Level(0, now) == asked.Level(0, now) && stored.Low(0, now) == asked.Low(0, now),
					"at %v: level %g, by SetNextPower %g", now, stored.Level(0, now), asked.Level(0, now))
				stored.Account(0, now)
				asked.Account(0, now)
				a, _ := stored.EmptyAt(0)
				b, _ := asked.EmptyAt(0)
				if a != b || stored.Spent(0) != asked.Spent(0) || stored.Total() != asked.Total() {
					t.Fatalf("at %v: %g J spent, empty at %v; by SetNextPower %g J, %v", now, stored.Spent(0), a,
						asked.Spent(0), b)
				}
			}
		}
	})
}
