package traces

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fedsim/engine"
	"fedsim/internal/quote"
)

// FedScale reads either of FedScale's pickles, told apart by the keys of the
// first device.
//
// The availability of devices ("active" and "inactive", where intervals begin
// and end, and "finish_time", after which they repeat, in seconds) becomes
// [Available]: on in the union of [active[i], inactive[i]), cut at finish_time,
// which FedScale's own clock, modulo finish_time, never passes.
//
// The capacity of devices ("communication", in kbit/s as FedScale counts them,
// 1024 bit/s, for both ways, and "computation", in ms for a sample) becomes
// constant [DownMbps], [UpMbps] and [Speed], the last as the median of
// computation over the device's own, so that the median device has speed 1. The
// trace of a constant is given a span of a day.
//
// The decoder takes numbers, texts, lists, tuples and dicts, and refuses
// whatever would run code. A pickle streams as it was written, a thousand devices
// at a time with Python's own pickler; of capacities two numbers of each device
// are held until the median is known. What is held takes [PickleMemory] at most.
// Lists that devices share are found as long as a quarter of that has not been
// read in between. Faults are a *ParseError with the offset in the file, those of
// one device with its name.
func FedScale(r io.Reader, name string) Sequence {
	return admitted(fedScale(r, name, PickleMemory), name)
}

func fedScale(r io.Reader, name string, limit int64) Sequence {
	return func(yield func(*Trace, error) bool) {
		f := &fedScaleReader{pickle: newPickle(r, limit), name: name, yield: yield}
		f.stream.take = f.devices
		root, err := f.decode(name)
		if err == nil {
			err = f.finish(root)
		}
		if err != nil && !f.stopped {
			yield(nil, err)
		}
	}
}

// fedScaleReader turns the dicts of a pickle into recordings.
type fedScaleReader struct {
	*pickle
	name       string
	yield      func(*Trace, error) bool
	stopped    bool                          // yield wants no more
	read       func(key, device value) error // for the kind of file; nil before the first device
	spent      int64                         // bytes of steps that were made
	capacities []capacity
	intervals  []interval
	recording  Trace
}

// interval is [from, to).
type interval struct{ from, to engine.Time }

var errStopped = errors.New("no more devices are wanted")

// refuse returns a fault of the file as a whole.
func (f *fedScaleReader) refuse(format string, arguments ...any) error {
	return &ParseError{File: f.name, Offset: 0, Problem: fmt.Sprintf(format, arguments...)}
}

// devices takes some devices of the outermost dict.
func (f *fedScaleReader) devices(items []value) error {
	if f.read == nil {
		switch first := items[1]; {
		case first.tag != dict:
			return fmt.Errorf("the first device has %v: must have a dict", first.tag)
		case f.has(first, "active"):
			f.read = f.availability
		case f.has(first, "computation"):
			f.read = f.capacity
		default:
			return errors.New("the first device has neither \"active\" (availability) nor \"computation\" (capacity)")
		}
	}
	for i := 0; i < len(items); i += 2 {
		if err := f.read(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// finish takes what a pickle has at its end: the dict whole when it was not
// built item by item, and the capacities, whose median is known now.
func (f *fedScaleReader) finish(root value) error {
	switch {
	case root.tag != dict:
		return f.refuse("the pickle holds %v: must be a dict of devices", root.tag)
	case f.stream.began && root != f.stream.from:
		return f.refuse("the pickle throws its first dict away: must hold one of all devices")
	}
	if rest := f.dicts[root.bits].items; len(rest) > 0 {
		if err := f.devices(rest); err != nil {
			if _, placed := errors.AsType[*ParseError](err); placed || err == errStopped {
				return err
			}
			return f.refuse("%v", err)
		}
	}
	if f.read == nil {
		return f.refuse("the dict is empty: must have a device")
	}
	return f.scale()
}

// result hands a device over, or what is wrong with it.
func (f *fedScaleReader) result(err error) error {
	r := &f.recording
	if err != nil {
		r = nil
	}
	if !f.yield(r, err) {
		f.stopped = true
		return errStopped
	}
	return nil
}

func (f *fedScaleReader) has(d value, key string) bool {
	_, ok := f.lookup(d, key)
	return ok
}

// spend bounds what the devices take together. What they do not share is in
// proportion to the file: an interval has two numbers of two bytes at least.
func (f *fedScaleReader) spend() error {
	f.spent += valueBytes * int64(1+2*len(f.intervals))
	if f.spent > f.limit+8*f.offset {
		return errors.New("the devices share lists that take too much when each has its own")
	}
	return nil
}

// deviceName returns what the key of a device says.
func (f *fedScaleReader) deviceName(key value) string {
	if key.tag == text {
		return f.texts[key.bits]
	}
	return strconv.FormatInt(int64(key.bits), 10)
}

// maxFields is how many keys the dict of a device may have. FedScale's have up
// to 5.
const maxFields = 64

// open begins the recording of a device, whose dict must be one.
func (f *fedScaleReader) open(key, d value) (fail func(string, ...any) error, err error) {
	name, at := f.deviceName(key), int64(-1)
	fail = func(format string, arguments ...any) error {
		return &ParseError{File: f.name, Offset: at, Device: name, Problem: fmt.Sprintf(format, arguments...)}
	}
	if problem := refuseName(name); problem != "" {
		name = quote.Cut(strconv.Quote(name))
		return nil, fail("the name %s", problem)
	}
	if d.tag != dict {
		return nil, fail("has %v: must have a dict", d.tag)
	}
	at = f.dicts[d.bits].at
	if n := len(f.dicts[d.bits].items) / 2; n > maxFields {
		return nil, fail("has %d keys: must have at most %d", n, maxFields)
	}
	f.recording.reset(name, 0)
	return fail, nil
}

func (f *fedScaleReader) availability(key, d value) error {
	f.intervals = f.intervals[:0]
	err := f.result(f.present(key, d))
	if err == nil {
		err = f.spend()
	}
	return err
}

// present reads the availability of a device into f.recording.
func (f *fedScaleReader) present(key, d value) error {
	fail, err := f.open(key, d)
	if err != nil {
		return err
	}
	finish, problem := f.time(d, "finish_time")
	if problem == "" && finish == 0 {
		problem = "finish_time = 0: must be positive"
	}
	if problem != "" {
		return fail("%s", problem)
	}
	active, problem := f.times(d, "active")
	if problem != "" {
		return fail("%s", problem)
	}
	inactive, problem := f.times(d, "inactive")
	if problem != "" {
		return fail("%s", problem)
	}
	if len(active) != len(inactive) {
		return fail("has %d times in active and %d in inactive: must have as many", len(active), len(inactive))
	}
	for i := range active {
		from, problem := f.instant(active[i])
		if problem != "" {
			return fail("active[%d] %s", i, problem)
		}
		to, problem := f.instant(inactive[i])
		if problem != "" {
			return fail("inactive[%d] %s", i, problem)
		}
		if to < from {
			return fail("inactive[%d] = %v comes before active[%d] = %v", i, to, i, from)
		}
		f.intervals = append(f.intervals, interval{from, min(to, finish)})
	}
	f.recording.Span = finish
	f.recording.union(Available, f.intervals)
	return nil
}

// union makes a switch that is on within any of the intervals, which it sorts.
func (r *Trace) union(k Kind, intervals []interval) {
	slices.SortFunc(intervals, func(a, b interval) int {
		if a.from != b.from {
			if a.from < b.from {
				return -1
			}
			return 1
		}
		return 0
	})
	r.add(k, 0, 0)
	end := engine.Time(0) // of the union so far
	for _, x := range intervals {
		if x.to <= x.from || x.to <= end {
			continue
		}
		r.add(k, max(x.from, end), 1) // takes the place of an end at the same instant
		if end = x.to; end < r.Span {
			r.add(k, end, 0)
		}
	}
}

// capacity is what is held of a device until the median is known.
type capacity struct {
	name          string
	computation   float64 // ms for a sample
	communication float64 // kbit/s of 1024 bit/s
	fault         error   // or what is wrong with it
}

const capacityBytes = 48

// capacity keeps the capacity of a device.
func (f *fedScaleReader) capacity(key, d value) error {
	c := capacity{}
	c.fault = f.able(key, d, &c)
	f.capacities = append(f.capacities, c)
	return f.charge(capacityBytes + int64(len(c.name)))
}

// able reads the capacity of a device.
func (f *fedScaleReader) able(key, d value, c *capacity) error {
	fail, err := f.open(key, d)
	if err != nil {
		return err
	}
	c.name = f.recording.Name
	for _, field := range []struct {
		name string
		x    *float64
	}{{"computation", &c.computation}, {"communication", &c.communication}} {
		v, _ := f.lookup(d, field.name)
		number, ok := v.number()
		if !ok || !(number > 0 && number < math.MaxFloat32) {
			return fail("%s must be a positive number", field.name)
		}
		*field.x = number
	}
	return nil
}

// scale hands the capacities over. The device of speed 1 is the median of
// those that can be read; of an even number, the lower one of the middle two.
func (f *fedScaleReader) scale() error {
	var all []float64
	for _, c := range f.capacities {
		if c.fault == nil {
			all = append(all, c.computation)
		}
	}
	slices.Sort(all)
	for _, c := range f.capacities {
		if c.fault == nil {
			const kbit = 1024 / 1e6 // of FedScale's model_update_size, in Mbit
			f.recording.reset(c.name, engine.FromSeconds(86400))
			f.recording.add(DownMbps, 0, c.communication*kbit)
			f.recording.add(UpMbps, 0, c.communication*kbit)
			f.recording.add(Speed, 0, all[(len(all)-1)/2]/c.computation)
		}
		if err := f.result(c.fault); err != nil {
			return err
		}
	}
	return nil
}

func (f *fedScaleReader) times(d value, key string) (times []value, problem string) {
	v, ok := f.lookup(d, key)
	if !ok || v.tag != list && v.tag != tuple {
		return nil, key + " must be a list of times in seconds"
	}
	return f.lists[v.bits], ""
}

func (f *fedScaleReader) time(d value, key string) (t engine.Time, problem string) {
	v, ok := f.lookup(d, key)
	if !ok {
		return 0, key + " is missing: must be a time in seconds"
	}
	if t, problem = f.instant(v); problem != "" {
		problem = key + " " + problem
	}
	return t, problem
}

// instant returns a number of seconds as a time.
func (f *fedScaleReader) instant(v value) (t engine.Time, problem string) {
	x, ok := v.number()
	if !ok {
		return 0, fmt.Sprintf("is %v: must be a number of seconds", v.tag)
	}
	if t, problem = seconds(x); problem != "" {
		problem = fmt.Sprintf("= %v: %s", x, problem)
	}
	return t, problem
}
