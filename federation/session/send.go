package session

import (
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/federation"
)

// Kinds of messages. A round counts messages of kind Train, whose responses are updates, as
// taken, dropped and late; those of kind Query as taken, if Close names them; others never.
const (
	Train = "train"
	Query = "query"
)

// Send sends messages in the open round. A message to a client that is at another one
// waits for its turn, and fails if the client is not available then. Messages to clients
// that are not available now are refused. A server that polls does so when it has sent them. Behind hubs the messages
// of a call are a group: those of an earlier call must have ended, a client gets one of them, and hubs carry
// messages as large as the largest.
func (s *Session) Send(round int, kind string, all []Message) (refused []Refusal, err error) {
	if kind == Train && s.server.Partial().Awaits() {
		return nil, refuse(CodePolicy, 0, noEpochs, round)
	}
	if s.hubs {
		if err := s.checkGroup(all); err != nil {
			return nil, err
		}
	}
	if err := s.checkSend(round, all); err != nil {
		return nil, err
	}
	s.begin()
	places := s.queue.add(kind, all, s.server.Rounds())
	sent := places[:0]
	c := s.clients
	for _, i := range places {
		m := &s.queue.messages[i]
		switch client := m.Client; {
		case s.server.Attempt(client).Expected:
			refused = append(refused, Refusal{ID: m.ID, Busy: true})
			s.queue.withdraw(i)
		case s.queue.current[client] < 0 && !c.Available(client):
			why := c.WhyUnavailable(client)
			refused = append(refused, Refusal{ID: m.ID, Why: why})
			s.drop(m, why)
			s.queue.withdraw(i)
		default:
			sent = append(sent, i)
		}
	}
	if kind == Train {
		s.server.Accounts().Sent(len(all), len(all)-len(refused))
	}
	if s.hubs {
		s.sendGroup(sent)
		return refused, nil
	}
	if len(sent) > 0 {
		c.Poll()
	}
	c.Batch(func() {
		for _, i := range sent {
			s.dispatch(i)
		}
	})
	return refused, nil
}

// checkSend refuses messages that cannot be sent. It marks the ids of others as used.
func (s *Session) checkSend(round int, all []Message) error {
	if err := s.checkRound(round); err != nil {
		return err
	}
	for i := range all {
		if err := s.checkMessage(&all[i]); err != nil {
			for _, m := range all[:i] {
				delete(s.queue.ids, m.ID)
			}
			return err
		}
		s.queue.ids[all[i].ID] = -1
	}
	return nil
}

// checkMessage refuses a message that cannot be sent.
func (s *Session) checkMessage(m *Message) error {
	if _, known := s.queue.ids[m.ID]; known {
		return refuse(CodeDuplicateID, m.ID, "message %d: the id was used before", m.ID)
	}
	if m.Client < 0 || m.Client >= len(s.queue.current) {
		return refuse(CodeClient, m.ID, "message %d: client %d: must be in 0..%d", m.ID, m.Client,
			len(s.queue.current)-1)
	}
	if !amount(m.BytesDown) {
		return refuse(CodeValue, m.ID, "message %d: %g bytes down: must be finite and not negative", m.ID, m.BytesDown)
	}
	if !m.Undecided {
		if err := checkWork(m.ID, m.Work, m.BytesUp); err != nil {
			return err
		}
	}
	if m.Expires != 0 && m.Expires < s.Now() {
		return refuse(CodePast, m.ID, "message %d: expires at %d ns: the clock is at %d ns", m.ID, int64(m.Expires),
			int64(s.Now()))
	}
	return nil
}

// checkWork refuses the work of a message that cannot be done.
func checkWork(id int64, w devices.Work, bytesUp float64) error {
	if !amount(w.FLOPs) || !amount(w.Steps) || !amount(w.Traffic) || !amount(bytesUp) {
		return refuse(CodeValue, id,
			"message %d: %g FLOPs, %g steps, %g bytes of memory, %g bytes up: must be finite and not negative", id,
			w.FLOPs, w.Steps, w.Traffic, bytesUp)
	}
	return nil
}

// amount reports whether x is a number of bytes, steps or FLOPs.
func amount(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }

// dispatch starts a message, or lets it wait for its turn.
func (s *Session) dispatch(place int32) {
	if m := &s.queue.messages[place]; m.Expires != 0 {
		s.setTimer(place, m.Expires)
	}
	if s.queue.line(place) {
		s.start(place)
	}
}

// start starts the attempt of a message whose turn it is.
func (s *Session) start(place int32) {
	m := &s.queue.messages[place]
	client := m.Client
	s.queue.current[client] = place
	if !s.clients.Available(client) {
		s.fail(client, s.clients.WhyUnavailable(client))
		return
	}
	m.state = underWay
	s.prepare(m)
	s.clients.Send(client)
}

// prepare prepares the attempt of a message.
func (s *Session) prepare(m *pending) {
	c, client, try := s.clients, m.Client, 0
	if c.Number(client) == int(m.round) {
		try = c.Try(client) + 1
	}
	if m.update {
		s.server.Accounts().Asked(client, int(m.round))
	}
	c.Release(client)
	c.SetBytesDown(m.BytesDown)
	c.PrepareDownlink(client, int(m.round), try)
	work, up := m.Work, m.BytesUp
	if m.Undecided {
		work, up = devices.Work{}, 0
	}
	c.SetWork(client, work, up)
	if !m.Undecided || !c.DropsAnywhere(client) { // where it drops depends on the work
		c.PrepareUplink(client)
	}
}

// OpenWork returns how many clients wait for Work. The clock stands still until there are
// none.
func (s *Session) OpenWork() int { return s.call.asking }

// Work sets the work of a message whose client waits for it.
func (s *Session) Work(id int64, work devices.Work, bytesUp float64) error {
	place, err := s.queue.place(id)
	if err != nil {
		return err
	}
	m := &s.queue.messages[place]
	if err := checkWork(id, work, bytesUp); err != nil {
		return err
	}
	client, c := m.Client, s.clients
	if m.state != asking {
		return refuse(CodeOpenWork, id, "message %d: its client does not wait for work", id)
	}
	s.queue.decide(m)
	s.call.asking--
	m.state = underWay
	c.SetWork(client, work, bytesUp)
	c.PrepareUplink(client)
	c.Proceed(client)
	c.Flush()
	return nil
}

// Cancel ends messages without a response and without a notice. The clients stop working
// on them. Messages that have ended already stay as they are. Those of Round end as the
// protocol says.
func (s *Session) Cancel(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		place, err := s.queue.place(id)
		if err != nil {
			return err
		}
		if m := &s.queue.messages[place]; m.policy && !m.ended() {
			return refuse(CodePolicy, id, "message %d: the protocol ends it", id)
		}
	}
	s.call.backlog = slices.DeleteFunc(s.call.backlog, func(n Notice) bool {
		canceled := slices.Contains(ids, n.ID)
		if canceled {
			s.queue.withID(n.ID).unread = false
		}
		return canceled
	})
	s.closeGroupOf(ids)
	for _, waiting := range [...]bool{true, false} { // first those that another would make room for
		for _, id := range ids {
			place := s.queue.ids[id]
			if m := &s.queue.messages[place]; !m.ended() && (m.state == queued) == waiting {
				s.abandon(m)
				s.end(place, over)
			}
		}
	}
	s.clients.Flush()
	return nil
}

// abandon lets the client of a message stop working on it.
func (s *Session) abandon(m *pending) {
	c, client := s.clients, m.Client
	switch m.state {
	case asking:
		s.call.asking--
	case underWay:
	default:
		return
	}
	if c.Paused(client) {
		s.drop(m, clients.BecameUnavailable)
	} else {
		m.countLate(s.server.Accounts())
	}
	c.Withdraw(client)
	c.Cancel(client)
}

// countLate counts the response of a message as late, once.
func (p *pending) countLate(accounts *federation.Accounts) {
	if p.update && !p.late {
		p.late = true
		accounts.Late(p.Client)
	}
}

// drop counts the client of a message as dropped in this round, once.
func (s *Session) drop(m *pending, why clients.Reason) {
	if m.update && s.server.Accounts().Drop(m.Client, why) {
		s.dropped = append(s.dropped, int32(m.Client))
	}
}
