// Package foreground is a device model: phones that their users use now and then. While
// a phone is in use, training in the background continues at a share of its usual speed.
//
// The numbers are those of a study of 255 users (Falaki, Mahajan, Kandula,
// Lymberopoulos, Govindan, Estrin: Diversity in Smartphone Usage, MobiSys 2010):
// users start 10 to 200 sessions a day, which last 10 to 250 seconds on average, and the
// two are independent. Each device draws both, log-uniformly in these ranges. Sessions
// and the gaps between them are exponential. The share of speed left for training is our
// choice.
package foreground

import (
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
)

const day = 86400 // seconds

// Options are decoded strictly from [devices.model_options], over the factory's defaults.
type Options struct {
	SessionsPerDay []float64 `toml:"sessions_per_day" doc:"sessions of a user per day: the least and the most"`
	SessionS       []float64 `toml:"session_s" doc:"mean seconds of a user's sessions: the least and the most"`
	Speed          float64   `toml:"speed" doc:"share of its speed that a phone in use has for training"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	sessions := checkRange(c, "sessions_per_day", o.SessionsPerDay)
	lengths := checkRange(c, "session_s", o.SessionS)
	if sessions && lengths {
		use := o.SessionsPerDay[1] * o.SessionS[1]
		c.Require(use < day, "session_s", o.SessionS,
			fmt.Sprintf("must leave time between sessions: the most sessions take %g of the day's %d seconds", use,
				day))
	}
	c.Require(o.Speed >= 0 && o.Speed <= 1, "speed", o.Speed, "must be in [0, 1]")
}

func checkRange(c *config.Checker, key string, of []float64) bool {
	ok := len(of) == 2 && of[0] > 0 && of[0] <= of[1] && of[1] <= 1e6
	c.Require(ok, key, of, "must be the least and the most, positive and at most 1e6")
	return ok
}

func init() {
	devices.RegisterModel(devices.ModelFactory{
		Name:    "foreground",
		Summary: "phones that train more slowly while they are in use",
		Reference: "Falaki, Mahajan, Kandula, Lymberopoulos, Govindan, Estrin: Diversity in Smartphone Usage, " +
			"MobiSys 2010",
		Options: func() config.Options {
			return &Options{SessionsPerDay: []float64{10, 200}, SessionS: []float64{10, 250}, Speed: 0.5}
		},
		New: func(s devices.ModelSetup, o config.Options) (devices.Behavior, error) {
			return devices.Behavior{Speed: newUsers(s, *o.(*Options))}, nil
		},
	})
}

// users are the users of all devices. The intervals of a device alternate between in use
// and not in use. They are numbered from 0, and the length of each depends on the device
// and the number alone, whatever calls came before. at holds the interval of each
// device's last call, so that a call walks through the intervals since then alone. A call
// for an earlier time starts again at time 0.
type users struct {
	setup  devices.ModelSetup
	speed  float64
	habits []habit
	at     []interval
}

// habit is the mean lengths, in seconds, of a user's sessions and of the gaps.
type habit struct{ session, gap float64 }

type interval struct {
	from, until engine.Time // until = 0: none
	number      int
	used        bool
}

func newUsers(s devices.ModelSetup, o Options) *users {
	u := &users{setup: s, speed: o.Speed, habits: make([]habit, s.Devices), at: make([]interval, s.Devices)}
	for k := range u.habits {
		draws := s.Stream(k, 0)
		period := day / between(o.SessionsPerDay, draws.Float64())
		session := between(o.SessionS, draws.Float64())
		u.habits[k] = habit{session: session, gap: period - session}
	}
	return u
}

// between maps a uniform u to a log-uniform number in a range.
func between(of []float64, u float64) float64 { return of[0] * math.Pow(of[1]/of[0], u) }

// Speed returns the share of its speed that a device has for training, and until when.
// It allocates nothing.
func (u *users) Speed(device int, at engine.Time) (factor float64, until engine.Time) {
	i := &u.at[device]
	if i.until == 0 || at < i.from {
		*i = u.first(device)
	}
	for at >= i.until {
		*i = u.interval(device, i.number+1, i.until, !i.used)
	}
	if i.used {
		return u.speed, i.until
	}
	return 1, i.until
}

// first returns the interval at time 0. It is a session with the probability that the
// phone is in use.
func (u *users) first(device int) interval {
	draws, h := u.setup.Stream(device, 1), u.habits[device]
	return u.interval(device, 0, 0, draws.Float64() < h.session/(h.session+h.gap))
}

func (u *users) interval(device, number int, from engine.Time, used bool) interval {
	mean := u.habits[device].gap
	if used {
		mean = u.habits[device].session
	}
	draws := u.setup.Stream(device, 2+number)
	length := engine.FromSeconds(-mean * math.Log1p(-draws.Float64()))
	return interval{from: from, until: from.Add(max(1, length)), number: number, used: used}
}
