package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
)

// The calls of models that are asked again at the end of a run: of so many devices, evenly spaced, so many each, evenly
// spaced too. A call for an earlier time may begin at time 0 again: a device is asked for as many of them as
// take about so many changes of its value.
const (
	watchedDevices = 64
	watchedCalls   = 64 // even
	mostChanges    = 1 << 12
)

// call is a call of a model, and its result. Values that are not numbers are 0 or 1.
type call struct {
	method       string
	at           engine.Time
	usual, value float64
	until        engine.Time
	// Of a Machine: the use and the state that it was asked about; the second value of its result, which is speed
	// and power, or a state. Until is then the instant of that state.
	use   devices.Use
	state devices.State
	other float64
}

// watch keeps calls of a model, by device. Several goroutines may note calls of different devices.
type watch struct {
	model string // such as `device model "x"`
	apart int    // of the devices that are watched, from 0 on
	calls []watched
	again func() (asked any, err error) // makes a second instance with equal arguments
}

// watched are calls of a device: one in each of every calls.
type watched struct {
	list     []call
	n, every int
}

func newWatch(model string, devices int, again func() (any, error)) *watch {
	w := &watch{model: model, apart: max(1, (devices+watchedDevices-1)/watchedDevices), again: again}
	w.calls = make([]watched, (devices+w.apart-1)/w.apart)
	space := make([]call, len(w.calls)*watchedCalls)
	for i := range w.calls {
		w.calls[i] = watched{list: space[i*watchedCalls:][:0:watchedCalls], every: 1}
	}
	return w
}

// note keeps a call. It allocates nothing.
func (w *watch) note(device int, c call) {
	if device%w.apart != 0 {
		return
	}
	of := &w.calls[device/w.apart]
	if of.n%of.every == 0 {
		if len(of.list) == watchedCalls {
			for i := range watchedCalls / 2 {
				of.list[i] = of.list[2*i]
			}
			of.list, of.every = of.list[:watchedCalls/2], 2*of.every
		}
		of.list = append(of.list, c)
	}
	of.n++
}

// check asks a second instance again, the devices in descending order: in descending order of time where calls may go
// back, and otherwise every second call.
func (w *watch) check(back bool, ask func(of any, device int, c *call)) error {
	of, err := w.again()
	if err != nil {
		return fmt.Errorf("starting %s again: %w", w.model, err)
	}
	for i := len(w.calls) - 1; i >= 0; i-- {
		device, list, changes := i*w.apart, w.calls[i].list, engine.Time(0)
		slices.SortStableFunc(list, func(a, b call) int { return cmp.Compare(a.at, b.at) })
		step := 2
		if back {
			step = 1
			slices.Reverse(list)
		}
		for k := 0; k < len(list) && changes < mostChanges; k += step {
			got := list[k]
			ask(of, device, &got)
			if math.Float64bits(got.value) != math.Float64bits(list[k].value) || got.until != list[k].until ||
				math.Float64bits(got.other) != math.Float64bits(list[k].other) {
				return fmt.Errorf("%s: %s(%s) was %s in the run and %s when asked again in another order: "+
					"a value must depend on seed, options, device and time alone%s (docs/extend.md)",
					w.model, got.method, got.arguments(device), &list[k], &got, got.remedy())
			}
			if back && got.method != "Pace" && got.method != "After" {
				changes += got.at / (got.until - got.at)
			}
		}
	}
	return nil
}

// arguments describes those of a call.
func (c *call) arguments(device int) string {
	if c.method == "Pace" || c.method == "After" {
		return fmt.Sprintf("%d, %v, use %d, %s", device, c.state, c.use, seconds(c.at))
	}
	return fmt.Sprintf("%d, %s", device, seconds(c.at))
}

// remedy says how a value may depend on work.
func (c *call) remedy() string {
	switch c.method {
	case "Speed":
		return ". What depends on work is a devices.Machine"
	case "Pace", "After":
		return ", and the state that it is given"
	default:
		return ""
	}
}

// String describes the result of a call.
func (c *call) String() string {
	value := fmt.Sprint(c.value)
	switch c.method {
	case "Available", "PluggedIn":
		value = fmt.Sprint(c.value == 1)
	case "Pace":
		value = fmt.Sprintf("speed %v and power %v", c.value, c.other)
	case "After":
		value = fmt.Sprintf("state [%v %v]", c.value, c.other)
	}
	return value + " until " + seconds(c.until)
}

func seconds(at engine.Time) string {
	if at == engine.Never {
		return "never"
	}
	return fmt.Sprintf("%.9g s", at.Seconds())
}

// truth is a condition as a number.
func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// CheckModels reports a model of devices or links of a run that has ended whose values depend on more than seed,
// options, device and time.
func CheckModels(s *clients.System) error {
	for _, of := range []any{s.Speed, s.Availability, s.Charging, s.Machine, s.Bandwidth, s.Capacity, s.Channel} {
		if m, ok := of.(interface{ checkAgain() error }); ok {
			if err := m.checkAgain(); err != nil {
				return err
			}
		}
	}
	return nil
}
