package traces

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"fedsim/config"
	"fedsim/internal/quote"
)

// FLASHOptions say how FLASH's files become traces.
type FLASHOptions struct {
	// Need is the states that make a device available, all at once: "locked",
	// "screen-off", "wifi" and "charging".
	Need []string
	// Origin is the clock time that is time 0 of the traces, without a zone; the
	// zero time stands for the midnight before the first message of the file.
	Origin time.Time
	// Battery says that the messages' readings of the battery are taken as
	// [BatteryLevel]; a device without any is refused then.
	Battery bool
	// Days, HoldS and Seed are for speed distributions: how long the traces are,
	// for how many seconds a drawn rate holds, and the seed of the draws.
	Days  float64
	HoldS float64
	Seed  uint64
}

// FLASHDefaults returns the options of FLASH itself: a device is available when
// it is locked, on WiFi and charging. Rates hold for ten minutes of one day.
func FLASHDefaults() FLASHOptions {
	return FLASHOptions{Need: []string{"locked", "wifi", "charging"}, Days: 1, HoldS: 600}
}

var needs = []string{"locked", "screen-off", "wifi", "charging"}

// Validate reports what is wrong, by the names of the flags that set it.
func (o *FLASHOptions) Validate(c *config.Checker) {
	c.Require(len(o.Need) > 0, "need", o.Need, "must name at least one state")
	for _, name := range o.Need {
		c.OneOf("need", name, needs...)
	}
	c.Require(o.Days > 0 && o.Days <= maxDays, "days", o.Days, wantDays)
	c.Require(o.HoldS >= 1 && o.HoldS <= maxDays*86400 && o.Days*86400/o.HoldS <= maxDraws, "hold_s", o.HoldS,
		"must be in [1, 3155760000], seconds, and go into the days at most 10000000 times")
	c.Require(o.Origin.IsZero() || ofOurTime(o.Origin), "origin", o.Origin.Format(time.DateTime), "its year "+wantYear)
}

// maxDays is a hundred years, maxDraws how many rates a device may be given.
const (
	maxDays  = 36525
	maxDraws = 1e7
	wantDays = "must be in (0, 36525], days"
)

// The bounds of what a JSON file may hold.
const (
	maxFLASHText  = 16 << 20 // bytes of the text of a device
	maxFLASHDepth = 64
)

// FLASH reads either of FLASH's JSON files, told apart by the keys of the first
// device.
//
// In state_traces.json a device has "messages", a text of lines, each a clock
// time, a tab and a state. They become [Available] and [Charging] of a span from
// the first message to the last. Time 0 of the trace is the clock time Origin,
// as it is for all devices, and the recording repeats before its first message
// as it does after its last, so that before the first reading of a battery the
// last one holds: the value at t is that of the instant of the
// recording that is t - first message modulo the span, which is what FLASH
// does. Unlike there, messages may be out of order, several at one instant
// count at once, and an interval that lasts to the end of the recording counts.
//
// In speed_distri.json a device has the mean and deviation of its rates ("down_u",
// "down_sigma", "up_u", "up_sigma" in kB/s, of 1024 bytes as FLASH divides by
// them). They become [DownMbps] and [UpMbps]: normal numbers, drawn again until
// positive as FLASH does for each transfer, that hold for HoldS seconds.
//
// The file streams: what is held is the device at hand, at most 16 MiB of text.
// Faults are a *ParseError with the offset in the file, those of one device with
// its name.
func FLASH(r io.Reader, name string, o FLASHOptions) Sequence {
	return admitted(flash(r, name, o), name)
}

func flash(r io.Reader, name string, o FLASHOptions) Sequence {
	return func(yield func(*Trace, error) bool) {
		f := newFLASHReader(r, name, o)
		if err := f.delimiter('{', "the file must hold an object of devices"); err != nil {
			yield(nil, err)
			return
		}
		for f.more() {
			err := f.device()
			if !yield(f.result(err)) || err != nil && !f.oneDevice(err) {
				return
			}
		}
		if err := f.close(); err != nil {
			yield(nil, err)
		}
	}
}

// flashReader holds what is known while the devices stream by.
type flashReader struct {
	name      string
	tokens    *json.Decoder
	options   FLASHOptions
	recording Trace
	events    []event
	segments  []segment
	devices   int
}

func newFLASHReader(r io.Reader, name string, o FLASHOptions) *flashReader {
	in := &lagging{in: r}
	in.tokens = json.NewDecoder(in)
	return &flashReader{name: name, tokens: in.tokens, options: o}
}

// lagging ends the input when the decoder has been fed much more than it could
// make a token of: a text is that long.
type lagging struct {
	in     io.Reader
	read   int64
	tokens *json.Decoder
}

var errLongText = fmt.Errorf("a text has more than %d bytes", maxFLASHText)

func (l *lagging) Read(b []byte) (int, error) {
	if l.read-l.tokens.InputOffset() > maxFLASHText {
		return 0, errLongText
	}
	n, err := l.in.Read(b)
	l.read += int64(n)
	return n, err
}

func (f *flashReader) result(err error) (*Trace, error) {
	if err != nil {
		return nil, err
	}
	return &f.recording, nil
}

func (f *flashReader) oneDevice(err error) bool {
	parse, ok := errors.AsType[*ParseError](err)
	return ok && parse.Device != ""
}

func (f *flashReader) fail(device, format string, arguments ...any) error {
	return &ParseError{File: f.name, Offset: f.tokens.InputOffset(), Device: device, Problem: fmt.Sprintf(format, arguments...)}
}

// token returns the next token. The decoder checks the grammar, so that a
// wrong one is an error here.
func (f *flashReader) token() (json.Token, error) {
	t, err := f.tokens.Token()
	if err == nil {
		return t, nil
	}
	fault := &ParseError{File: f.name, Offset: f.tokens.InputOffset(), Err: err}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		fault.Offset = max(fault.Offset, syntax.Offset)
		fault.Problem = "is no JSON"
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		fault.Problem = "the file is cut off"
		fault.Err = nil
	}
	return nil, fault
}

func (f *flashReader) delimiter(want json.Delim, problem string) error {
	t, err := f.token()
	if err == nil && t != want {
		err = f.fail("", "%s", problem)
	}
	return err
}

// more reports whether a device follows, or an error, which the next token is.
func (f *flashReader) more() bool { return f.tokens.More() }

// close reads the end of the file.
func (f *flashReader) close() error {
	if err := f.delimiter('}', "the object of devices does not end"); err != nil {
		return err
	}
	if _, err := f.tokens.Token(); err != io.EOF {
		return f.fail("", "something follows the object of devices")
	}
	if f.devices == 0 {
		return f.fail("", "the object is empty: must have a device")
	}
	return nil
}

// device reads a device into f.recording.
func (f *flashReader) device() error {
	t, err := f.token()
	if err != nil {
		return err
	}
	f.devices++
	name, _ := t.(string)
	nameProblem := refuseName(name)
	if nameProblem != "" {
		name = quote.Cut(strconv.Quote(name))
	}
	t, err = f.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		if err := f.skip(t); err != nil {
			return err
		}
		return f.fail(name, "must be an object")
	}
	messages, rates, err := f.fields()
	switch {
	case err != nil:
		return err
	case nameProblem != "":
		return f.fail(name, "the name %s", nameProblem)
	case messages != nil && rates == nil:
		return f.states(name, *messages)
	case messages == nil && len(rates) == len(rateFields):
		return f.speeds(name, rates)
	default:
		return f.fail(name, "must have \"messages\" (states) or \"down_u\", \"down_sigma\", \"up_u\" and \"up_sigma\" (speeds)")
	}
}

var rateFields = []string{"down_u", "down_sigma", "up_u", "up_sigma"}

// fields reads the object of a device: its messages, nil without, and its
// rates. Those that are no number are left out.
func (f *flashReader) fields() (messages *string, rates map[string]float64, err error) {
	for f.tokens.More() {
		t, err := f.token()
		if err != nil {
			return nil, nil, err
		}
		key, _ := t.(string)
		if t, err = f.token(); err != nil {
			return nil, nil, err
		}
		switch v := t.(type) {
		case string:
			if key == "messages" {
				messages = &v
			}
		case float64:
			if slices.Contains(rateFields, key) {
				if rates == nil {
					rates = map[string]float64{}
				}
				rates[key] = v
			}
		default:
			if err := f.skip(t); err != nil {
				return nil, nil, err
			}
		}
	}
	_, err = f.token() // the end of the object
	return messages, rates, err
}

// skip reads to the end of the value that t begins.
func (f *flashReader) skip(t json.Token) error {
	depth := 0
	for {
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		if depth > maxFLASHDepth {
			return f.fail("", "values lie in each other more than %d deep", maxFLASHDepth)
		}
		var err error
		if t, err = f.token(); err != nil {
			return err
		}
	}
}
