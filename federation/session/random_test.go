package session

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/results"
)

// counter is a journal with the counts of the results of rounds.
type counter struct {
	flops, down, up      float64 // of the whole run
	taken, dropped, late int     // of the open round
}

func (c *counter) Note(e federation.Entry) {
	switch e.Kind {
	case federation.ActivitySpan:
		switch e.Activity {
		case clients.Downlink:
			c.down += e.Amount
		case clients.Compute:
			c.flops += e.Amount
		case clients.Uplink:
			c.up += e.Amount
		}
	case federation.UpdateTaken:
		c.taken++
	case federation.ClientDropped:
		c.dropped++
	case federation.ResponseLate:
		c.late++
	}
}

// chaos is a driver that does anything at any time, and keeps account of it.
type chaos struct {
	*rapid.T
	ses     *Session
	journal *counter
	next    int64
	fate    map[int64]string // of messages sent: "open", "asking", or how they ended
	ended   []int64          // in the open round
	taken   []int64          // by the protocol
	at      engine.Time      // of the last notice
	total   results.Round
	rounds  int
}

// drawWorld draws a scenario.
func drawWorld(t *rapid.T, tb testing.TB) learning.Setup {
	protocol := rapid.SampledFrom([]string{federation.WaitForAll, protocols.Deadline, protocols.First,
		protocols.Charged}).Draw(t, "protocol")
	chance := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return world(tb, "fedavg", protocol, func(s *learning.Setup) {
		s.AnyDeadline = true
		s.Config.Fit = chance("fit")
		s.Config.DetectS = rapid.SampledFrom([]float64{0, 0.3, 5}).Draw(t, "detect_s")
		if chance("server") {
			s.Config.ServerGFLOPS = 1e-6
		}
		if chance("faults") {
			s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtRandom
			s.Network.Jitter, s.Network.LossProbability = 0.3, 0.1
		}
		if chance("traces") {
			s.Availability = halves{}
			if chance("resume") {
				s.Faults.OnReturn = devices.Resume
			}
		}
		if chance("batteries") {
			joules(s, 15)
			s.Devices.ChargeW = 10
		}
		switch rapid.IntRange(0, 3).Draw(t, "links") {
		case 0:
			s.Network.HubSize = 3
		case 1:
			s.Network.ServerDownMbps, s.Network.ServerUpMbps = 0.5, 0.5
		}
		if s.Network.HubSize == 0 && chance("polls") {
			polls(s)
		}
		if protocol != federation.WaitForAll && s.Network.HubSize == 0 && chance("late") {
			s.Config.Late = federation.Keep
		}
		if protocol == protocols.Deadline || protocol == protocols.First {
			s.Config.Retries = rapid.IntRange(0, 2).Draw(t, "retries")
		}
		if chance("cohort") || protocol == protocols.First {
			s.Config.Clients.Count = 4
		}
	})
}

// TestADriverMayDoAnything lets a driver do anything: the clock never goes back, every
// message ends exactly once, a call that fails changes nothing, and the results of rounds
// add up to what the journal says.
func TestADriverMayDoAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawWorld(rt, t)
		c := &chaos{T: rt, journal: &counter{}, fate: map[int64]string{}}
		s.Journal = c.journal
		ses, err := New(driven(s))
		if err != nil {
			rt.Fatal(err)
		}
		c.ses = ses
		dead := false
		act := func(f func() error) func(*rapid.T) {
			return func(rt *rapid.T) {
				c.T = rt
				if dead {
					return
				}
				before, now, sum := ses.queue.open, ses.Now(), ses.clients.Clock().Digest()
				err := f()
				if ses.Now() < now {
					rt.Fatalf("the clock goes back from %d to %d", now, ses.Now())
				}
				var why *Error
				switch {
				case err == nil:
				case !errors.As(err, &why):
					rt.Fatal(err)
				case why.Code == CodeStalled:
					dead = true
				case ses.queue.open != before || ses.Now() != now || ses.clients.Clock().Digest() != sum:
					rt.Fatalf("a call that failed has changed something: %v", err)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"send": act(c.send), "wait": act(c.wait), "round": act(c.playRound), "advance": act(c.advance),
			"cancel": act(c.cancel), "work": act(c.work), "close": act(c.close), "close again": act(c.close),
			"select": act(c.choose),
			"":       func(rt *rapid.T) { c.T = rt; c.check() },
		})
		if !dead {
			c.T = rt
			c.finish()
		}
	})
}

// messages draws messages to clients.
func (c *chaos) messages(undecided bool) (all []Message) {
	for range rapid.IntRange(1, 6).Draw(c.T, "messages") {
		c.next++
		m := Message{
			ID: c.next, Client: rapid.IntRange(0, len(sizes)-1).Draw(c.T, "device"),
			BytesDown: float64(rapid.IntRange(0, 500).Draw(c.T, "down")),
			Work:      devices.Work{FLOPs: float64(rapid.IntRange(0, 1000).Draw(c.T, "flops"))},
			BytesUp:   float64(rapid.IntRange(0, 500).Draw(c.T, "up")),
		}
		if undecided {
			m.Undecided = rapid.IntRange(0, 3).Draw(c.T, "undecided") == 0
			if rapid.IntRange(0, 3).Draw(c.T, "expires") == 0 {
				m.Expires = c.ses.Now() + engine.Time(rapid.IntRange(1, 2e9).Draw(c.T, "lifetime"))
			}
		}
		all = append(all, m)
	}
	return all
}

// sent notes messages that were sent.
func (c *chaos) sent(all []Message, refused []Refusal) {
	for _, m := range all {
		c.fate[m.ID] = "open"
	}
	for _, r := range refused {
		if c.fate[r.ID] != "open" {
			c.Fatalf("message %d is refused and was not sent", r.ID)
		}
		delete(c.fate, r.ID)
	}
}

// heard notes the notices of the driver.
func (c *chaos) heard(all []Notice) {
	for _, n := range all {
		if n.At < c.at || n.At > c.ses.Now() {
			c.Fatalf("%v comes after an instant %d and at %d", n, c.at, c.ses.Now())
		}
		c.at = n.At
		want := "open"
		if c.fate[n.ID] == "asking" {
			want = "asking" // it may expire
		}
		if c.fate[n.ID] != want {
			c.Fatalf("%v of a message that is %q", n, c.fate[n.ID])
		}
		if n.Kind == NoticeWork {
			c.fate[n.ID] = "asking"
			continue
		}
		c.fate[n.ID] = n.Kind.String()
		c.ended = append(c.ended, n.ID)
	}
}

func (c *chaos) send() error {
	all, kind := c.messages(true), rapid.SampledFrom([]string{Train, Query, "evaluate"}).Draw(c.T, "kind")
	refused, err := c.ses.Send(c.rounds+1, kind, all)
	if err == nil {
		c.sent(all, refused)
	}
	return err
}

func (c *chaos) playRound() error {
	all := c.messages(false)
	notices, taken, refused, err := c.ses.PlayRound(c.rounds+1, Train, all, nil)
	var why *Error
	if err != nil && !(errors.As(err, &why) && why.Code == CodeStalled) {
		return err
	}
	c.sent(all, refused)
	c.heard(notices)
	c.taken = append(c.taken[:0], taken...)
	return err
}

// open returns the ids of messages that are, by fate.
func (c *chaos) open(fates ...string) (ids []int64) {
	for id := int64(1); id <= c.next; id++ {
		for _, f := range fates {
			if c.fate[id] == f {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// some draws some of the ids, one of them perhaps twice.
func (c *chaos) some(ids []int64) []int64 {
	if len(ids) == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.SampledFrom(ids), 1, 2*len(ids)).Draw(c.T, "ids")
}

func (c *chaos) wait() error {
	var ids []int64
	if rapid.Bool().Draw(c.T, "named") {
		ids = append([]int64{}, c.some(append(c.open("open", "asking"), c.ended...))...)
	}
	until := engine.Never
	if rapid.Bool().Draw(c.T, "limited") {
		until = c.ses.Now() + engine.Time(rapid.Int64Range(-5, 3e9).Draw(c.T, "time"))
	}
	notices, end, err := c.ses.Wait(ids, rapid.IntRange(0, 3).Draw(c.T, "count"), until, nil)
	if err != nil {
		return err
	}
	c.heard(notices)
	switch end {
	case EndedAll:
		if ids == nil && len(c.open("open", "asking")) > 0 {
			c.Fatalf("all have ended, but not %v", c.open("open", "asking"))
		}
	case EndedUntil:
		if c.ses.Now() != until {
			c.Fatalf("the wait until %d ends at %d", until, c.ses.Now())
		}
	case EndedWork:
		if len(c.open("asking")) == 0 {
			c.Fatal("no message waits for work")
		}
	case EndedStalled:
		c.Fatal("nothing happens any more")
	}
	return nil
}

func (c *chaos) choose() error {
	_, next := c.ses.Available()
	if next < c.ses.Now() {
		c.Fatalf("the next change at %d is before %d", next, c.ses.Now())
	}
	_, err := c.ses.Select(c.rounds + 1)
	return err
}

func (c *chaos) advance() error {
	notices, _, err := c.ses.Advance(c.ses.Now()+engine.Time(rapid.Int64Range(-5, 3e9).Draw(c.T, "time")), nil)
	if err == nil {
		c.heard(notices)
	}
	return err
}

func (c *chaos) cancel() error {
	ids := c.some(c.open("open", "asking"))
	if rapid.IntRange(0, 9).Draw(c.T, "unknown") == 0 {
		ids = append(ids, c.next+1)
	}
	err := c.ses.Cancel(ids)
	if err == nil {
		for _, id := range ids {
			c.fate[id] = "canceled"
		}
	}
	return err
}

func (c *chaos) work() error {
	for _, id := range c.open("asking") {
		if err := c.ses.Work(id, devices.Work{FLOPs: 10}, 20); err != nil {
			return err
		}
		c.fate[id] = "open"
	}
	return nil
}

func (c *chaos) close() error {
	var taken []int64
	for _, id := range c.ended {
		if c.fate[id] == "response" && !c.ses.queue.messages[c.ses.queue.ids[id]].policy &&
			rapid.Bool().Draw(c.T, "taken") {
			taken = append(taken, id)
		}
	}
	r, err := c.ses.Close(c.rounds+1, append(taken, c.taken...), float64(rapid.IntRange(0, 500).Draw(c.T, "flops")))
	if err != nil {
		return err
	}
	c.rounds++
	if j := c.journal; r.Participants != j.taken || r.Dropped != j.dropped || r.Late != j.late {
		c.Fatalf("round %d has %d taken, %d dropped, %d late; the journal %d, %d, %d", r.Round, r.Participants,
			r.Dropped, r.Late, j.taken, j.dropped, j.late)
	}
	c.journal.taken, c.journal.dropped, c.journal.late = 0, 0, 0
	c.total.FLOPs += r.FLOPs
	c.total.BytesDown += r.BytesDown
	c.total.BytesUp += r.BytesUp
	c.ended, c.taken = nil, nil
	return nil
}

// check checks the books of the session against those of the driver.
func (c *chaos) check() {
	s := c.ses
	if s.server.Stalled() != "" {
		return
	}
	backlog := 0
	for _, n := range s.call.backlog {
		if n.Kind != NoticeWork {
			backlog++
		}
	}
	if open := len(c.open("open", "asking")); s.queue.open != open-backlog {
		c.Fatalf("%d messages are open, the driver has %d less %d", s.queue.open, open, backlog)
	}
	if used := len(s.queue.messages) - len(s.queue.free); used != len(s.queue.ids) ||
		used != s.queue.open+len(s.queue.finished) {
		c.Fatalf("%d places are used for %d ids, %d open and %d ended", used, len(s.queue.ids), s.queue.open,
			len(s.queue.finished))
	}
}

// finish ends everything: then nothing is pending.
func (c *chaos) finish() {
	for len(c.open("open", "asking")) > 0 {
		if err := c.work(); err != nil {
			c.Fatal(err)
		}
		notices, end, err := c.ses.Wait(nil, 0, engine.Never, nil)
		if err != nil || end == EndedStalled {
			c.Fatal(end, err)
		}
		c.heard(notices)
	}
	if err := c.close(); err != nil {
		c.Fatal(err)
	}
	s := c.ses
	if len(s.timers.heap) > 0 || s.queue.undecided > 0 || s.call.asking > 0 || s.group > 0 {
		c.Fatalf(
			"%d timers, %d messages of unknown work, %d clients that wait for work, %d messages of a group are left",
			len(s.timers.heap), s.queue.undecided, s.call.asking, s.group)
	}
	for client := range s.queue.current {
		if s.queue.current[client] >= 0 && !s.server.Attempt(client).Expected {
			c.Fatalf("client %d is still at a message", client)
		}
	}
	if s.hubs {
		return // bytes are those of hubs
	}
	s.Finish()
	for _, x := range []struct {
		what      string
		got, want float64
	}{{"FLOPs", c.total.FLOPs, c.journal.flops}, {"bytes down", c.total.BytesDown, c.journal.down},
		{"bytes up", c.total.BytesUp, c.journal.up}} {
		if math.Abs(x.got-x.want) > 1e-9*math.Max(1, x.want) {
			c.Fatal(fmt.Sprintf("rounds have %v %s, the journal %v", x.got, x.what, x.want))
		}
	}
}
