package timeline

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fedsim/engine"
)

// The processes of a trace: groups of tracks.
const (
	serverGroup = 1 + iota
	deviceGroup
	batteryGroup
)

// WriteChrome writes the timeline of a run, which it names, in Chrome's trace event
// format, as a JSON object: complete events ("X") for slices, instant events ("i")
// for losses, counters ("C") in percent for batteries, metadata ("M") for names. Their
// ts and dur are microseconds of virtual time with three decimals, which keeps
// nanoseconds. The server is thread 1 and device i thread i+2: 0 is no thread to some
// viewers.
func (t *Timeline) WriteChrome(w io.Writer, run string) error {
	clock := "virtual time of the simulation since its start, not the wall clock"
	if t.Relative {
		clock += "; a second stands for one relative unit (federation.cost)"
	}
	about := about{clock, run, fmt.Sprintf("%d to %d", t.First, t.Last),
		fmt.Sprintf("%d of %d", len(t.Tracks), t.Devices)}
	c := chrome{w: w}
	c.json(`{"displayTimeUnit":"ns","otherData":`, about)
	c.before = ",\"traceEvents\":[\n"
	c.group(serverGroup, "server (virtual time)")
	c.track(serverGroup, engine.Server, "rounds")
	c.group(deviceGroup, fmt.Sprintf("%d of %d devices (virtual time)", len(t.Tracks), t.Devices))
	for _, device := range t.Tracks {
		c.track(deviceGroup, device, "device "+strconv.Itoa(int(device)))
	}
	if slices.ContainsFunc(t.Items, func(it Item) bool { return it.Kind == Level }) {
		c.group(batteryGroup, "batteries (virtual time)")
	}
	for i := range t.Items {
		c.event(t.Items[i].event())
	}
	c.text("\n]}\n")
	return c.err
}

// about describes a trace.
type about struct {
	Clock   string `json:"clock"`
	Run     string `json:"run"`
	Rounds  string `json:"rounds"`
	Devices string `json:"devices"`
}

// chromeEvent is an event of the format.
type chromeEvent struct {
	Name  string      `json:"name"`
	Phase string      `json:"ph"`
	Group int         `json:"pid"`
	Track int32       `json:"tid,omitempty"` // none is 0
	At    json.Number `json:"ts,omitempty"`  // microseconds
	Long  json.Number `json:"dur,omitempty"` // likewise
	Scope string      `json:"s,omitempty"`   // of an instant: "t", its track
	Color string      `json:"cname,omitempty"`
	Args  args        `json:"args"`
}

// args are the details of an event.
type args struct {
	Name    string      `json:"name,omitempty"`
	Index   *int32      `json:"sort_index,omitempty"`
	Level   json.Number `json:"%,omitempty"`
	Round   *int32      `json:"round,omitempty"`
	Try     int32       `json:"try,omitempty"`
	Outcome string      `json:"outcome,omitempty"`
	Steps   *float64    `json:"steps,omitempty"`
	Bytes   *float64    `json:"bytes,omitempty"`
	FLOPs   *float64    `json:"FLOPs,omitempty"`
	// Overhead is the seconds that are not FLOPs at the device's rate.
	Overhead float64 `json:"overhead_s,omitempty"`
	// Throttled is the seconds at less than the usual speed.
	Throttled float64 `json:"throttled_s,omitempty"`
}

// chrome writes events. It keeps the first error.
type chrome struct {
	w      io.Writer
	before string // the next event
	err    error
}

func (c *chrome) text(s string) {
	if c.err == nil {
		_, c.err = io.WriteString(c.w, s)
	}
}

// json writes a value behind a text.
func (c *chrome) json(before string, v any) {
	text, err := json.Marshal(v)
	if c.err == nil {
		c.err = err
	}
	c.text(before + string(text))
}

func (c *chrome) event(e chromeEvent) {
	c.json(c.before, e)
	c.before = ",\n"
}

// group names a process and puts it where its number says.
func (c *chrome) group(pid int32, name string) {
	c.event(chromeEvent{Name: "process_name", Phase: "M", Group: int(pid), Args: args{Name: name}})
	c.event(chromeEvent{Name: "process_sort_index", Phase: "M", Group: int(pid), Args: args{Index: &pid}})
}

// track names the track of a device, or the server's, and puts it in their order.
func (c *chrome) track(pid int, device int32, name string) {
	c.event(chromeEvent{Name: "thread_name", Phase: "M", Group: pid, Track: device + 2, Args: args{Name: name}})
	c.event(chromeEvent{Name: "thread_sort_index", Phase: "M", Group: pid, Track: device + 2,
		Args: args{Index: &device}})
}

// event returns the item as an event.
func (it *Item) event() chromeEvent {
	e := chromeEvent{Name: it.name(), Phase: "X", Group: deviceGroup, Track: it.Device + 2, At: micros(it.From)}
	if it.Kind == Level { // counters are of processes
		e.Phase, e.Group, e.Track = "C", batteryGroup, 0
		e.Args.Level = json.Number(strconv.FormatFloat(100*it.Amount, 'f', 2, 64))
		return e
	}
	if it.Device == engine.Server {
		e.Group = serverGroup
	}
	if it.From == it.To {
		e.Phase, e.Scope = "i", "t"
	} else {
		e.Long = micros(it.To - it.From)
	}
	e.Args.Round = &it.Round
	if it.Kind == Attempt {
		e.Args.Try, e.Args.Outcome = it.Try, it.outcome()
	}
	if it.Open || it.Why != 0 {
		return e
	}
	switch it.Kind {
	case Attempt:
		e.Args.Steps = &it.Amount
	case Compute:
		e.Args.FLOPs = &it.Amount
		e.Args.Overhead = float64((it.To - it.From).Seconds() * it.Overhead)
		if e.Args.Throttled = it.Throttled.Seconds(); it.Throttled > 0 {
			e.Color = "terrible" // red in viewers
		}
	case Download, Upload:
		e.Args.Bytes = &it.Amount
	}
	return e
}

// name is the name of an item in a viewer. Counters differ by their names.
func (it *Item) name() string {
	switch it.Kind {
	case Round:
		if it.Lost {
			return fmt.Sprintf("round %d, lost", it.Round)
		}
		return fmt.Sprintf("round %d", it.Round)
	case Attempt:
		if it.Try > 1 {
			return fmt.Sprintf("round %d, attempt %d", it.Round, it.Try)
		}
		return fmt.Sprintf("round %d", it.Round)
	case Failure:
		return it.Why.String()
	case Level:
		return fmt.Sprintf("battery of device %d", it.Device)
	default:
		return [...]string{
			Update: "Omega update", Download: "downlink", Compute: "compute", Upload: "uplink", Poll: "poll",
			Wait: "wait", Unavailable: "unavailable", Depleted: "depleted",
		}[it.Kind]
	}
}

// outcome says how an attempt has ended.
func (it *Item) outcome() string {
	switch {
	case it.Open:
		return "under way when the run ended"
	case it.Why != 0:
		return it.Why.String()
	default:
		return "responded"
	}
}

func micros(at engine.Time) json.Number { return json.Number(fmt.Sprintf("%d.%03d", at/1000, at%1000)) }
