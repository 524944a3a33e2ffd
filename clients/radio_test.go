package clients

import (
	"math"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// The radio of 3G (network.Profile): 0.5821 s of promotion at 0.6594 W, a tail of 4 s at
// 0.8039 W and 6 s at 0.6013 W, 0.81788 W while it is active, and 0.86898 W per Mbps up.
const (
	umtsBase   = 0.81788
	umtsUp     = 0.86898
	umtsWakes  = engine.Time(582_100_000)
	umtsWaking = 0.6594
)

// radiosOf returns radios alone, of clients that idle at 0.5 W.
func radiosOf(change func(*Setup)) *radios {
	s := setup(1, func(s *Setup) {
		s.Network.Profile, s.Network.Radio = "3g", network.RadioStates
		if change != nil {
			change(s)
		}
	})
	h, _ := newHardware(&s, nil)
	r := newRadios(&s, &h)
	return &r
}

// A radio wakes for its first transfer, is awake during one and in the tail behind it, and
// sleeps from the end of the tail on.
func TestRadioSleepsBehindItsTail(t *testing.T) {
	r := radiosOf(nil)
	if got := r.promotion(0, 0); got != umtsWakes {
		t.Errorf("the first transfer is delayed by %v", got)
	}
	r.transfer(0, 0, 0, 1)
	if got := r.promotion(0, 5*second); got != 0 {
		t.Errorf("a transfer that is under way is delayed by %v", got)
	}
	r.tail(0, 20*second, idleW)
	for _, c := range []struct{ at, want engine.Time }{
		{20 * second, 0}, {30*second - 1, 0}, {30 * second, umtsWakes}, {40 * second, umtsWakes},
	} {
		if got := r.promotion(0, c.at); got != c.want {
			t.Errorf("a transfer at %v is delayed by %v, want %v", c.at, got, c.want)
		}
	}
	if r.sleep(0); r.promotion(0, 20*second) != umtsWakes {
		t.Error("a radio that was put to sleep is awake")
	}
}

// A transfer draws the power of promotion, of a connected radio, and of one that moves bytes;
// what follows draws that of the rest of the tail too.
func TestPowerOfTransferAndTail(t *testing.T) {
	r := radiosOf(nil)
	// 10^6 bits up in 2 s.
	m := message{way: network.Up, bytes: 125_000, length: 2 * second}
	watts := r.moving(m, m.length)
	if want := idleW + umtsBase + umtsUp/2; math.Abs(watts-want) > 1e-12 {
		t.Errorf("the bytes draw %g W, want %g", watts, want)
	}
	same := func(what string, got devices.PowerSequence, want devices.PowerSequence) {
		for i, s := range want.Stages {
			if g := got.Stages[i]; g.Length != s.Length || math.Abs(g.Watts-s.Watts) > 1e-12 && s.Length > 0 {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		if math.Abs(got.Watts-want.Watts) > 1e-12 {
			t.Errorf("%s: %g W, want %g", what, got.Watts, want.Watts)
		}
	}
	same("transfer", r.transfer(0, 0, second/10, watts), devices.PowerSequence{
		Stages: [2]devices.Stage{
			{Length: umtsWakes, Watts: idleW + umtsWaking}, {Length: second / 10, Watts: idleW + umtsBase},
		},
		Watts: watts,
	})
	r.tail(0, 10*second, idleW)
	same("one second later", r.tail(0, 11*second, 2), devices.PowerSequence{
		Stages: [2]devices.Stage{{Length: 3 * second, Watts: 2.8039}, {Length: 6 * second, Watts: 2.6013}}, Watts: 2,
	})
	same("when it sleeps", r.tail(0, 20*second, idleW), devices.PowerSequence{Watts: idleW})
}

// A radio pays by the rate at which bytes move, or for the bytes where rates change, or by the
// rate of its link where it has no states.
func TestWhatARadioPaysFor(t *testing.T) {
	m := message{way: network.Up, bytes: 125_000, length: 2 * second}
	rates := func(s *Setup) { s.Network.ServerUpMbps = 10 }
	for _, c := range []struct {
		name          string
		change        func(*Setup)
		watts, joules float64
	}{
		{"states", nil, umtsUp / 2, 0},
		{"no states", func(s *Setup) { s.Network.Radio = network.RadioActive }, umtsUp, 0},
		{"shared", rates, 0, umtsUp},
		{"shared without states", func(s *Setup) { rates(s); s.Network.Radio = network.RadioActive }, umtsUp, 0},
	} {
		r := radiosOf(c.change)
		if got := r.moving(m, m.length) - idleW - umtsBase; math.Abs(got-c.watts) > 1e-12 {
			t.Errorf("%s: %g W, want %g", c.name, got, c.watts)
		}
		if got := r.energy(m, m.bytes); math.Abs(got-c.joules) > 1e-12 {
			t.Errorf("%s: %g J, want %g", c.name, got, c.joules)
		}
	}
}

// A client that computes beyond the tail must wake its radio: it has less time, and spends
// more.
func TestComputingBeyondTheTail(t *testing.T) {
	r := radiosOf(nil)
	for _, c := range []struct{ seconds, computes float64 }{
		{5, 5}, {10, 10 - 1e-9}, {10.3, 10 - 1e-9}, {12, 12 - 0.5821},
	} {
		if got := r.awake(0, c.seconds); math.Abs(got-c.computes) > 1e-12 {
			t.Errorf("%g s: computes %g s, want %g", c.seconds, got, c.computes)
		}
	}
	wakes := (idleW + umtsWaking) * 0.5821
	for _, c := range []struct {
		work engine.Time
		want float64
	}{
		{5 * second, wakes + 4*0.8039 + 1*0.6013},
		{12 * second, 2*wakes + 4*0.8039 + 6*0.6013},
	} {
		if got := r.between(0, c.work); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v of work: %g J, want %g", c.work, got, c.want)
		}
	}
}
