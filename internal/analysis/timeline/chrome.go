package timeline

import (
	"encoding/json"
	"fmt"
	"io"
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
// nanoseconds. The server is thread 1 and device t thread t+2: 0 is no thread to some
// viewers.
func (t *Timeline) WriteChrome(w io.Writer, run string) error {
	c := chrome{w: w}
	c.header(t, run)
	c.group(serverGroup, "server (virtual time)")
	c.track(serverGroup, engine.Server, "rounds")
	c.group(deviceGroup, fmt.Sprintf("%d of %d devices (virtual time)", len(t.Tracks), t.Devices))
	for _, device := range t.Tracks {
		c.track(deviceGroup, device, "device "+strconv.Itoa(int(device)))
	}
	for _, it := range t.Items {
		if it.Kind == Level {
			c.group(batteryGroup, "batteries (virtual time)")
			break
		}
	}
	for i := range t.Items {
		c.item(&t.Items[i])
	}
	c.text("\n]}\n")
	return c.err
}

// chrome writes a trace event by event; the first error ends it.
type chrome struct {
	w    io.Writer
	line []byte
	some bool // events are written
	err  error
}

func (c *chrome) text(s string) {
	if c.err == nil {
		_, c.err = io.WriteString(c.w, s)
	}
}

// header begins the trace.
func (c *chrome) header(t *Timeline, run string) {
	clock := "virtual time of the simulation since its start, not the wall clock"
	if t.Relative {
		clock += "; a second stands for one relative unit (federation.cost)"
	}
	about, err := json.Marshal(struct {
		Clock   string `json:"clock"`
		Run     string `json:"run"`
		Rounds  string `json:"rounds"`
		Devices string `json:"devices"`
	}{
		clock, run,
		fmt.Sprintf("%d to %d", t.First, t.Last),
		fmt.Sprintf("%d of %d", len(t.Tracks), t.Devices),
	})
	c.err = err
	c.text(`{"displayTimeUnit":"ns","otherData":`)
	c.text(string(about))
	c.text(",\"traceEvents\":[")
}

// group names a process and puts it where its number says.
func (c *chrome) group(pid int, name string) {
	c.begin("process_name", "M", pid)
	c.args().quoted("name", name).end()
	c.begin("process_sort_index", "M", pid)
	c.args().number("sort_index", float64(pid)).end()
}

// track names the track of a device, or the server's, and puts it in their order.
func (c *chrome) track(pid int, device int32, name string) {
	c.begin("thread_name", "M", pid)
	c.thread(device)
	c.args().quoted("name", name).end()
	c.begin("thread_sort_index", "M", pid)
	c.thread(device)
	c.args().number("sort_index", float64(device)).end()
}

// item writes an item as an event.
func (c *chrome) item(it *Item) {
	pid, phase := deviceGroup, "X"
	switch {
	case it.Device == engine.Server:
		pid = serverGroup
	case it.Kind == Level:
		pid, phase = batteryGroup, "C"
	}
	if it.Kind != Level && it.From == it.To {
		phase = "i"
	}
	c.begin(it.name(), phase, pid)
	if it.Kind != Level { // counters are of processes
		c.thread(it.Device)
	}
	c.line = append(append(c.line, `,"ts":`...), micros(it.From)...)
	switch phase {
	case "X":
		c.line = append(append(c.line, `,"dur":`...), micros(it.To-it.From)...)
	case "i":
		c.line = append(c.line, `,"s":"t"`...)
	}
	c.args()
	if it.Kind == Level {
		c.line = strconv.AppendFloat(append(c.line, `"%":`...), 100*it.Amount, 'f', 2, 64)
		c.end()
		return
	}
	c.number("round", float64(it.Round))
	if it.Kind == Attempt {
		c.number("try", float64(it.Try)).quoted("outcome", it.outcome())
	}
	if unit := [...]string{Attempt: "steps", Download: "bytes", Compute: "FLOPs", Upload: "bytes", Level: ""}[it.Kind]; unit != "" && !it.Open && it.Why == 0 {
		c.number(unit, it.Amount)
	}
	c.end()
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
			Update: "Omega update", Download: "downlink", Compute: "compute", Upload: "uplink",
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

// begin begins an event.
func (c *chrome) begin(name, phase string, pid int) {
	c.line = c.line[:0]
	if c.some {
		c.line = append(c.line, ',')
	}
	c.some = true
	c.line = append(append(append(c.line, "\n{\"name\":\""...), name...), `","ph":"`...)
	c.line = append(append(c.line, phase...), `","pid":`...)
	c.line = strconv.AppendInt(c.line, int64(pid), 10)
}

// thread puts the event on the track of a device, or of the server.
func (c *chrome) thread(device int32) {
	c.line = strconv.AppendInt(append(c.line, `,"tid":`...), int64(device)+2, 10)
}

// args begins the event's arguments, which number and quoted append and end ends.
func (c *chrome) args() *chrome {
	c.line = append(c.line, `,"args":{`...)
	return c
}

func (c *chrome) key(name string) {
	if c.line[len(c.line)-1] != '{' {
		c.line = append(c.line, ',')
	}
	c.line = append(append(append(c.line, '"'), name...), `":`...)
}

func (c *chrome) number(name string, v float64) *chrome {
	c.key(name)
	c.line = strconv.AppendFloat(c.line, v, 'f', -1, 64)
	return c
}

// quoted appends a text without characters that JSON escapes.
func (c *chrome) quoted(name, text string) *chrome {
	c.key(name)
	c.line = append(append(append(c.line, '"'), text...), '"')
	return c
}

func (c *chrome) end() {
	c.line = append(c.line, "}}"...)
	if c.err == nil {
		_, c.err = c.w.Write(c.line)
	}
}

// micros writes a span in microseconds, to the nanosecond.
func micros(t engine.Time) string { return fmt.Sprintf("%d.%03d", t/1000, t%1000) }
