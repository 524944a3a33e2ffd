package traces

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fedsim/engine"
	"fedsim/internal/tools/quote"
)

// FedScale reads FedScale's pickles. The keys of the first device determine which kind
// of file it is.
//
// The availability of devices becomes [Available]. "active" and "inactive" are the
// starts and ends of intervals, and "finish_time" is the period, all in seconds. A
// device is available in the union of [active[i], inactive[i]), cut at finish_time.
// FedScale takes its clock modulo finish_time.
//
// The capacity of devices becomes constant [DownMbps], [UpMbps] and [Speed].
// "communication" is in kbit/s of 1024 bit/s, as in FedScale, for both directions.
// "computation" is in ms per sample. Speed is the median of computation divided by the
// device's own, so the median device has speed 1. The trace of a constant spans a day.
//
// The decoder accepts numbers, texts, lists, tuples and dicts, and rejects all opcodes
// that would run code. A pickle streams in the chunks of Python's pickler, a thousand
// devices each. For capacities, two numbers per device are held until the median is
// known. Memory is at most pickleMemory. Lists shared by devices are found unless more
// than a quarter of that was read in between. Errors are a *ParseError with the offset
// in the file, and with the device's name if only that device is invalid.
func FedScale(r io.Reader, name string) Sequence {
	return admitted(fedScale(r, name, pickleMemory), name)
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

// fedScaleReader converts the dicts of a pickle to traces.
type fedScaleReader struct {
	*pickle
	name       string
	yield      func(*Trace, error) bool
	stopped    bool                          // yield returned false
	read       func(key, device value) error // by kind of file; nil before the first device
	spent      int64                         // bytes of steps so far
	capacities []capacity
	intervals  []interval
	trace      Trace
}

type interval struct{ from, to engine.Time }

var errStopped = errors.New("no more devices are wanted")

// refuse returns an error about the whole file.
func (f *fedScaleReader) refuse(format string, arguments ...any) error {
	return &ParseError{File: f.name, Offset: 0, Problem: fmt.Sprintf(format, arguments...)}
}

// devices reads some devices of the outermost dict.
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

// finish reads the rest at the end of a pickle: the dict if it was not built item by
// item, and the capacities, whose median is now known.
func (f *fedScaleReader) finish(root value) error {
	switch {
	case root.tag != dict:
		return f.refuse("the pickle holds %v: must be a dict of devices", root.tag)
	case f.stream.began && root != f.stream.from:
		return f.refuse("the pickle drops its first dict: must have one dict of all devices")
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

// result yields a device, or its error.
func (f *fedScaleReader) result(err error) error {
	if !f.yield(&f.trace, err) {
		f.stopped = true
		return errStopped
	}
	return nil
}

func (f *fedScaleReader) has(d value, key string) bool {
	_, ok := f.lookup(d, key)
	return ok
}

// maxFields is the largest number of keys in the dict of a device. FedScale's have up to
// 5.
const maxFields = 64

// open starts the trace of a device, whose value must be a dict.
func (f *fedScaleReader) open(key, d value) (fail func(string, ...any) error, err error) {
	name, at := strconv.FormatInt(int64(key.bits), 10), int64(-1)
	if key.tag == text {
		name = f.texts[key.bits]
	}
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
	f.trace.reset(name, 0)
	return fail, nil
}

// availability yields the availability of a device. It limits the memory of all devices: without shared lists it is
// proportional to the file, as an interval has at least two numbers of two bytes.
func (f *fedScaleReader) availability(key, d value) error {
	f.intervals = f.intervals[:0]
	if err := f.result(f.available(key, d)); err != nil {
		return err
	}
	f.spent += valueBytes * int64(1+2*len(f.intervals))
	if f.spent > f.limit+8*f.offset {
		return errors.New("the lists shared by devices would take too much memory")
	}
	return nil
}

// available reads the availability of a device into f.trace.
func (f *fedScaleReader) available(key, d value) error {
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
		return fail("has %d times in active and %d in inactive: must have equally many", len(active), len(inactive))
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
	f.trace.Span = finish
	f.trace.union(Available, f.intervals)
	return nil
}

// union makes a binary value that is on within any of the intervals. It sorts them.
func (r *Trace) union(k Kind, intervals []interval) {
	slices.SortFunc(intervals, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	r.add(k, 0, 0)
	end := engine.Time(0) // of the union so far
	for _, x := range intervals {
		if x.to <= x.from || x.to <= end {
			continue
		}
		r.add(k, max(x.from, end), 1) // replaces an end at the same instant
		if end = x.to; end < r.Span {
			r.add(k, end, 0)
		}
	}
}

// capacity is the data of a device until the median is known.
type capacity struct {
	name          string
	computation   float64 // ms per sample
	communication float64 // kbit/s of 1024 bit/s
	fault         error   // why the device is invalid
}

const capacityBytes = 48

// capacity stores the capacity of a device.
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
	c.name = f.trace.Name
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

// scale yields the capacities. The device of speed 1 is the median of the valid ones; of
// an even number, the lower of the middle two.
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
			const kbit = 1024 / 1e6 // as for FedScale's model_update_size, in Mbit
			f.trace.reset(c.name, engine.FromSeconds(86400))
			f.trace.add(DownMbps, 0, c.communication*kbit)
			f.trace.add(UpMbps, 0, c.communication*kbit)
			f.trace.add(Speed, 0, all[(len(all)-1)/2]/c.computation)
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

// instant converts a number of seconds to a time.
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
