package federation

import (
	"cmp"

	"fedsim/engine"
)

// The timers of a session are the instants at which messages expire and the driver learns
// of failures. They are not events of the clock, which has those of clients only: so the
// events of a session are those of a run. What happens to clients at an instant is before
// its timers. A message has one timer at most. The heap is a binary one, of places.

// firstDue returns the instant of the first timer; Never: there is none.
func (s *Session) firstDue() engine.Time {
	if len(s.timers) == 0 {
		return engine.Never
	}
	return s.messages[s.timers[0]].due
}

// setTimer sets the timer of a message.
func (s *Session) setTimer(place int32, at engine.Time) {
	s.stopTimer(place)
	m := &s.messages[place]
	m.due, m.timer = at, int32(len(s.timers))
	s.timers = append(s.timers, place)
	s.rise(len(s.timers) - 1)
	if at < s.limit {
		s.again = true
		s.f.clients.Clock().Stop() // behind all that the present event does
	}
}

// stopTimer stops the timer of a message, if it has one.
func (s *Session) stopTimer(place int32) {
	m := &s.messages[place]
	i, last := int(m.timer), len(s.timers)-1
	if i < 0 {
		return
	}
	m.timer = -1
	moved := s.timers[last]
	s.timers = s.timers[:last]
	if i < last {
		s.put(i, moved)
		s.rise(i)
		s.sink(int(s.messages[moved].timer))
	}
}

// sooner reports whether the timer of one message is before that of another: by time,
// then device, then the order of the ids.
func (s *Session) sooner(a, b int32) bool {
	x, y := &s.messages[a], &s.messages[b]
	return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.Device, y.Device), cmp.Compare(x.ID, y.ID)) < 0
}

// put puts a timer at a position of the heap.
func (s *Session) put(i int, place int32) {
	s.timers[i] = place
	s.messages[place].timer = int32(i)
}

// rise lets the timer at position i rise to where it belongs.
func (s *Session) rise(i int) {
	place := s.timers[i]
	for i > 0 && s.sooner(place, s.timers[(i-1)/2]) {
		s.put(i, s.timers[(i-1)/2])
		i = (i - 1) / 2
	}
	s.put(i, place)
}

// sink lets the timer at position i sink to where it belongs.
func (s *Session) sink(i int) {
	place := s.timers[i]
	for child := 2*i + 1; child < len(s.timers); child = 2*i + 1 {
		if child+1 < len(s.timers) && s.sooner(s.timers[child+1], s.timers[child]) {
			child++
		}
		if !s.sooner(s.timers[child], place) {
			break
		}
		s.put(i, s.timers[child])
		i = child
	}
	s.put(i, place)
}
