package traces

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fedsim/engine"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// phone is a set of device states.
type phone uint8

const (
	locked phone = 1 << iota
	screenOff
	onWifi
	plugged
	off
)

// phoneStates maps a message to the states that it turns on and off.
var phoneStates = map[string]struct{ on, off phone }{
	"battery_charged_on":  {on: plugged},
	"battery_charged_off": {off: plugged},
	"wifi":                {on: onWifi},
	"unknown":             {off: onWifi},
	"2g":                  {off: onWifi},
	"3g":                  {off: onWifi},
	"4g":                  {off: onWifi},
	"5g":                  {off: onWifi},
	"screen_on":           {off: screenOff},
	"screen_off":          {on: screenOff},
	"screen_lock":         {on: locked},
	"screen_unlock":       {off: locked},
	"phone_off":           {on: off},
	"phone_on":            {off: off},
	"battery_low":         {},
	"battery_okay":        {},
}

// event is a message: the states that it turns on and off at an instant since the
// origin.
type event struct {
	at      engine.Time
	on, off phone
	level   float64 // of the battery as a share of full; noReading if none
}

const noReading = -1

// segment is a state of the device from an instant of the recording on.
type segment struct {
	at                  engine.Time
	available, charging float64
	level               float64
}

const flashClock = "2006-01-02 15:04:05"

// states reads the messages of a device.
func (f *flashReader) states(name, messages string) error {
	f.events = f.events[:0]
	number := 0
	for line := range strings.SplitSeq(messages, "\n") {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		clock, state, ok := strings.Cut(line, "\t")
		if !ok {
			return f.fail(name, "message %d is %q: must be a time, a tab and a state", number, quote.Cut(line))
		}
		at, err := time.Parse(flashClock, strings.TrimSpace(clock))
		if err != nil {
			return f.fail(name, "message %d has the time %q: must be like %s", number, quote.Cut(clock), flashClock)
		}
		if !ofOurTime(at) {
			return f.fail(name, "message %d is of the year %d: %s", number, at.Year(), wantYear)
		}
		if f.options.Origin.IsZero() {
			f.options.Origin = at.Truncate(24 * time.Hour)
		}
		e, ok := parseState(strings.ToLower(strings.TrimSpace(state)))
		if !ok {
			return f.fail(name, "message %d has the state %q, which is unknown", number, quote.Cut(state))
		}
		e.at = engine.Time(at.Sub(f.options.Origin))
		f.events = append(f.events, e)
	}
	if len(f.events) == 0 {
		return f.fail(name, "has no messages: must have at least two")
	}
	slices.SortStableFunc(f.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	start, end := f.events[0].at, f.events[len(f.events)-1].at
	if start == end {
		return f.fail(name, "all messages have the same time: must have at least two times")
	}
	level := f.lastReading()
	if f.options.Battery && level == noReading {
		return f.fail(name, "has no battery reading: must have one, such as 80%%, if battery levels are requested")
	}
	f.segment(level)
	f.trace.reset(name, end-start)
	f.rotate(start)
	return nil
}

// ofOurTime reports whether differences between clock times in this range fit
// engine.Time.
func ofOurTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() <= 2199 }

const wantYear = "must be in [1970, 2199]"

func parseState(state string) (event, bool) {
	if percent, ok := strings.CutSuffix(state, "%"); ok {
		x, err := input.Number(percent)
		return event{level: x / 100}, err == nil && x >= 0 && x <= 100
	}
	s, ok := phoneStates[state]
	return event{on: s.on, off: s.off, level: noReading}, ok
}

func (f *flashReader) lastReading() float64 {
	for _, e := range slices.Backward(f.events) {
		if e.level != noReading {
			return e.level
		}
	}
	return noReading
}

// segment applies the events in order, those at the same instant together. Initially all
// states are off, as in FLASH, and the battery has the given level.
func (f *flashReader) segment(level float64) {
	f.segments = f.segments[:0]
	need := phone(0)
	for _, name := range f.options.Need {
		need |= 1 << slices.Index(needs, name)
	}
	end := f.events[len(f.events)-1].at
	var now phone
	for i, e := range f.events {
		now = now&^e.off | e.on
		if e.level != noReading {
			level = e.level
		}
		if e.at == end || f.events[i+1].at == e.at {
			continue // the trace ends before
		}
		s := segment{at: e.at, level: level}
		if now&need == need && now&off == 0 {
			s.available = 1
		}
		if now&plugged != 0 {
			s.charging = 1
		}
		f.segments = append(f.segments, s)
	}
}

// rotate shifts the segments, which begin at start and last for the span, by a multiple
// of the span so that the trace begins at the origin.
func (f *flashReader) rotate(start engine.Time) {
	r := &f.trace
	phase := start % r.Span
	if phase < 0 {
		phase += r.Span
	}
	put := func(at engine.Time, s segment) {
		r.add(Available, at, s.available)
		r.add(Charging, at, s.charging)
		if f.options.Battery {
			r.add(BatteryLevel, at, s.level)
		}
	}
	// From seam on, the segments lie beyond the span and come first.
	seam := slices.IndexFunc(f.segments, func(s segment) bool { return phase+s.at-start >= r.Span })
	if seam < 0 {
		seam = len(f.segments)
	}
	if phase > 0 {
		put(0, f.segments[seam-1])
	}
	for _, s := range f.segments[seam:] {
		put(phase+s.at-start-r.Span, s)
	}
	for _, s := range f.segments[:seam] {
		put(phase+s.at-start, s)
	}
}
