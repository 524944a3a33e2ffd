package traces

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"fedsim/config"
	"fedsim/internal/tools/quote"
)

// FLASHOptions configure the conversion of FLASH's files.
type FLASHOptions struct {
	// Need has the states that a device must have at the same time to be available:
	// "locked", "screen-off", "wifi" and "charging".
	Need []string
	// Origin is the clock time, without a zone, that becomes time 0. The zero value
	// stands for the midnight before the first message of the file.
	Origin time.Time
	// Battery converts battery readings to [BatteryLevel]; devices without readings are
	// then invalid.
	Battery bool
	// Days, HoldS and Seed apply to speed distributions: the length of the traces, the
	// seconds for which a drawn rate holds, and the seed.
	Days  float64
	HoldS float64
	Seed  uint64
}

// FLASHDefaults returns the options of FLASH itself: a device is available while it is
// locked, on WiFi and charging. Rates hold for ten minutes, over one day.
func FLASHDefaults() FLASHOptions {
	return FLASHOptions{Need: []string{"locked", "wifi", "charging"}, Days: 1, HoldS: 600}
}

// needs are the states that a device may need, in the order of their bits in [phone].
var needs = []string{"locked", "screen-off", "wifi", "charging"}

// Validate reports all errors under the names of the command-line flags.
func (o *FLASHOptions) Validate(c *config.Checker) {
	c.Require(len(o.Need) > 0, "need", o.Need, "must name at least one state")
	for _, name := range o.Need {
		c.OneOf("need", name, needs...)
	}
	c.Require(o.Days > 0 && o.Days <= maxDays, "days", o.Days, wantDays)
	c.Require(o.HoldS >= 1 && o.HoldS <= maxDays*86400 && o.Days*86400/o.HoldS <= maxDraws, "hold_s", o.HoldS,
		"must be in [1, 3155760000], seconds, with at most 10000000 rates in the given days")
	c.Require(o.Origin.IsZero() || ofOurTime(o.Origin), "origin", o.Origin.Format(time.DateTime), "its year "+wantYear)
}

// maxDays is a hundred years. maxDraws is the largest number of rates of a device.
const (
	maxDays  = 36525
	maxDraws = 1e7
	wantDays = "must be in (0, 36525], days"
)

// maxFLASHText is the most bytes of the text of a device.
const maxFLASHText = 16 << 20

// FLASH reads FLASH's JSON files. The keys of the first device determine which kind of
// file it is.
//
// In state_traces.json a device has "messages", a text whose lines have a clock time, a
// tab and a state. They become [Available] and [Charging] over a span from the first
// message to the last. Origin is time 0 for all devices. The recording also repeats
// before its first message, as in FLASH: the value at t is that of the recording at (t -
// first message) modulo the span. So before the first battery reading, the last one
// holds. Unlike in FLASH, messages may be out of order, messages at the same instant
// take effect together, and an interval that lasts to the end of the recording counts.
//
// In speed_distri.json a device has the mean and standard deviation of its rates
// ("down_u", "down_sigma", "up_u", "up_sigma" in kB/s of 1024 bytes, as in FLASH). They
// become [DownMbps] and [UpMbps]: normal numbers, drawn again until positive as in
// FLASH, that hold for HoldS seconds.
//
// The reader streams: it holds one device, at most 16 MiB of text. Errors are a
// *ParseError with the offset in the file, and with the device's name if only that
// device is invalid.
func FLASH(r io.Reader, name string, o FLASHOptions) Sequence {
	return admitted(flash(r, name, o), name)
}

func flash(r io.Reader, name string, o FLASHOptions) Sequence {
	return func(yield func(*Trace, error) bool) {
		text, err := plain(r, name)
		if err != nil {
			yield(nil, err)
			return
		}
		in := &lagging{in: text}
		in.tokens = json.NewDecoder(in)
		f := &flashReader{name: name, tokens: in.tokens, options: o}
		if err := f.delimiter('{', "the file must hold an object of devices"); err != nil {
			yield(nil, err)
			return
		}
		for f.tokens.More() { // a device, or an error that the next token returns
			err := f.device()
			if !yield(&f.trace, err) || err != nil && !ofOneDevice(err) {
				return
			}
		}
		if err := f.close(); err != nil {
			yield(nil, err)
		}
	}
}

type flashReader struct {
	name     string
	tokens   *json.Decoder
	options  FLASHOptions
	trace    Trace
	events   []event
	segments []segment
	devices  int
}

// lagging ends the input if the decoder reads much more than a token may have: a text is
// too long.
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

func (f *flashReader) fail(device, format string, arguments ...any) error {
	return &ParseError{File: f.name, Offset: f.tokens.InputOffset(), Device: device, Problem: fmt.Sprintf(format, arguments...)}
}

// token returns the next token. The decoder checks the grammar and returns an error for
// an invalid one.
func (f *flashReader) token() (json.Token, error) {
	t, err := f.tokens.Token()
	return t, f.placed(err)
}

// placed returns an error of the decoder with its place, nil for none.
func (f *flashReader) placed(err error) error {
	if err == nil {
		return nil
	}
	fault := &ParseError{File: f.name, Offset: f.tokens.InputOffset(), Err: err}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		fault.Offset = max(fault.Offset, syntax.Offset)
		fault.Problem = "is no JSON"
	}
	if number, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		fault.Problem, fault.Err = quote.Cut(number.Value)+" is out of range", nil
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		fault.Problem, fault.Err = "the file is cut off", nil
	}
	return fault
}

func (f *flashReader) delimiter(want json.Delim, problem string) error {
	t, err := f.token()
	if err == nil && t != want {
		err = f.fail("", "%s", problem)
	}
	return err
}

// close reads the end of the file.
func (f *flashReader) close() error {
	if err := f.delimiter('}', "the object of devices does not end"); err != nil {
		return err
	}
	if _, err := f.tokens.Token(); err != io.EOF {
		return f.fail("", "data after the object of devices")
	}
	if f.devices == 0 {
		return f.fail("", "the object is empty: must have a device")
	}
	return nil
}

// device reads a device into f.trace.
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
	var v any
	if err := f.placed(f.tokens.Decode(&v)); err != nil {
		return err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return f.fail(name, "must be an object")
	}
	messages, states := fields["messages"].(string)
	rates := map[string]float64{}
	for _, key := range rateFields {
		if x, ok := fields[key].(float64); ok {
			rates[key] = x
		}
	}
	switch {
	case nameProblem != "":
		return f.fail(name, "the name %s", nameProblem)
	case states && len(rates) == 0:
		return f.states(name, messages)
	case !states && len(rates) == len(rateFields):
		return f.speeds(name, rates)
	default:
		return f.fail(name, "must have \"messages\" (states) or \"down_u\", \"down_sigma\", \"up_u\" and \"up_sigma\" (speeds)")
	}
}

var rateFields = []string{"down_u", "down_sigma", "up_u", "up_sigma"}
