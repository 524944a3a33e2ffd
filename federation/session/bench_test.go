package session

import (
	"fmt"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
)

// lte returns a session of n devices on LTE and on mains.
func lte(t testing.TB, n int) *Session {
	t.Helper()
	s := Setup{Setup: federation.Setup{System: system(testSeed), Config: federation.Defaults()}, Values: 1}
	s.Clients, s.Rows = n, make([]int32, n)
	s.Devices.BatteryWh = devices.Mains
	ses, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return ses
}

// loop is a driver that sends to all, waits for all and closes.
type loop struct {
	ses     *Session
	all     []Message
	notices []Notice
	ids     []int64
	next    int64
}

func newLoop(ses *Session) *loop {
	l := &loop{ses: ses}
	for client := range ses.queue.current {
		l.all = append(l.all, Message{Client: client, BytesDown: 1e5, Work: devices.Work{FLOPs: 1e8}, BytesUp: 1e5})
	}
	return l
}

// round goes through a round.
func (l *loop) round(t testing.TB) {
	l.ids = l.ids[:0]
	for i := range l.all {
		l.next++
		l.all[i].ID = l.next
		l.ids = append(l.ids, l.next)
	}
	round := l.ses.server.Rounds() + 1
	if refused, err := l.ses.Send(round, Train, l.all); err != nil || refused != nil {
		t.Fatal(refused, err)
	}
	var end WaitEnd
	var err error
	if l.notices, end, err = l.ses.Wait(l.ids, 0, engine.Never, l.notices[:0]); err != nil || end != EndedAll {
		t.Fatal(end, err)
	}
	if _, err := l.ses.Close(round, l.ids, 0); err != nil {
		t.Fatal(err)
	}
}

// In steady state a round allocates at most one function, and the places of messages are used again.
func TestSessionsDoNotGrow(t *testing.T) {
	l := newLoop(lte(t, 100))
	for range 20 {
		l.round(t)
	}
	if allocated := testing.AllocsPerRun(200, func() { l.round(t) }); allocated > 1 {
		t.Errorf("%g allocations a round", allocated)
	}
	if n := len(l.ses.queue.messages); n > 100 {
		t.Errorf("%d places of messages for 100 clients", n)
	}
	if n := len(l.ses.queue.ids); n > 0 {
		t.Errorf("%d ids are known after the last round", n)
	}
}

// BenchmarkSession is a round of wait-for-all on LTE.
func BenchmarkSession(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := newLoop(lte(b, n))
			l.round(b)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				l.round(b)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/attempt")
		})
	}
}
