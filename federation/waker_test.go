package federation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/expect"
)

// doubling is a protocol that looks at the round after its first length: with too few responses it waits twice as
// long again, and so on, up to a limit.
type doubling struct {
	first, limit engine.Time
	length       engine.Time // of the present wait
	needed       int
	log          []string
}

// twice is the protocol that the factory returns; a test sets it.
var twice *doubling

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name: "doubling", Summary: "a deadline that doubles until enough have responded",
		Keys:   []string{"selection"},
		Traits: func(*federation.Config) federation.Traits { return federation.Traits{} },
		New: func(*federation.Config, config.Options) (federation.Protocol, error) {
			return twice, nil
		},
	})
}

func (d *doubling) Open(r *federation.OpenRound) {
	d.length = d.first
	r.EndAt(engine.Never - 1) // replaced by the next
	r.EndAt(r.Began().Add(d.limit))
	r.WakeAt(r.Began().Add(d.length))
}

func (d *doubling) Responded(r *federation.OpenRound, client int) { d.note(r, fmt.Sprint(client)) }

func (d *doubling) Wake(r *federation.OpenRound) {
	if d.note(r, "wake"); r.Received() >= d.needed {
		r.End()
		return
	}
	d.length *= 2
	r.WakeAt(r.Now().Add(d.length))
}

func (d *doubling) Exhausted(*federation.OpenRound) {}

func (d *doubling) Close(r *federation.OpenRound) { d.note(r, "close") }

func (d *doubling) note(r *federation.OpenRound, what string) {
	d.log = append(d.log, fmt.Sprintf("%s %.3f", what, (r.Now()-r.Began()).Seconds()))
}

// A round wakes its protocol behind a response of the same instant, and before the end of the round at that instant.
// Its waits double until enough clients have responded.
func TestWakesOfARound(t *testing.T) {
	times := slices.Sorted(slices.Values(servertest.Responses(1)))
	play := func(first, limit float64, needed int) string {
		twice = &doubling{first: engine.FromSeconds(first), limit: engine.FromSeconds(limit), needed: needed}
		s := servertest.Start(t, servertest.World("doubling", nil), 1)
		_, ok := s.Next()
		expect.Must(t, ok, "the round stalls: %s", s.Stalled())
		return strings.Join(twice.log, ", ")
	}
	// The responses take 267.8, 299.8, 395.8, 491.8, 651.8, 1003.8 and 1291.8 ms: rows of 32 ms, and the messages.
	for _, c := range []struct {
		first, limit float64
		needed       int
		want         string
	}{
		{times[0], 9, 1, "2 0.268, wake 0.268, close 0.268"},
		{0.3, 9, 4, "2 0.268, 4 0.300, wake 0.300, 0 0.396, 6 0.492, 3 0.652, wake 0.900, close 0.900"},
		{0.25, 0.75, 7, "wake 0.250, 2 0.268, 4 0.300, 0 0.396, 6 0.492, 3 0.652, wake 0.750, close 0.750"},
		{0.3, 0.4, 7, "2 0.268, 4 0.300, wake 0.300, 0 0.396, close 0.400"},
	} {
		got := play(c.first, c.limit, c.needed)
		expect.That(t, got == c.want, "first wait %v s, limit %v s, %d needed:\ngot  %s\nwant %s", c.first, c.limit,
			c.needed, got, c.want)
	}
}
