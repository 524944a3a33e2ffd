package session

import (
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/results"
)

// PlayRound sends messages and lets the scenario's protocol play the open round with them,
// once: it decides when the round ends, whom it asks again, and which responses the server
// takes. PlayRound returns what happened until then like Wait, and which messages were taken.
// The driver learns of failures when the round ends. If the protocol keeps late responses,
// their messages end in a later call, and a later PlayRound takes them. Close must follow.
//
// Messages to clients that are not available are refused, unless the protocol waits for
// all: then it asks them when they become available.
func (s *Session) PlayRound(round int, kind string, all []Message,
	into []Notice) (notices []Notice, taken []int64, refused []Refusal, err error) {
	if err := s.checkPlay(round, all); err != nil {
		return into, nil, nil, err
	}
	s.call.begin(&s.queue, into)
	s.begin()
	refused, most := s.ask(kind, all)
	s.clients.SetBytesDown(most)
	s.played, s.call.inRound = true, true
	s.taken = s.taken[:0]
	s.call.need = math.MaxInt
	cohort := federation.Cohort{Clients: s.asked, Wanted: len(s.asked), Began: s.Now(), Bytes: s.queue.bytesDown}
	played, ok := s.round.Play(cohort, nil)
	s.call.inRound = false
	if ok {
		s.ended = played.Close()
		s.closePlay()
	}
	notices, s.call.out = s.call.out, nil
	return notices, s.taken, refused, s.aborted()
}

// checkPlay refuses messages that the protocol cannot play the open round with.
func (s *Session) checkPlay(round int, all []Message) error {
	asked := 0
	for i := range all {
		m := &all[i]
		if m.Undecided || m.Expires != 0 {
			return refuse(CodePolicy, m.ID,
				"message %d: must say its work and not expire in a round that a protocol plays", m.ID)
		}
		if client := m.Client; client >= 0 && client < len(s.queue.current) && !s.busy(client) {
			asked++
		}
	}
	switch {
	case !s.policy:
		return refuse(CodePolicy, 0, "protocol %q has no rounds: send and wait", protocols.Asynchronous)
	case s.played && round == s.server.Rounds()+1:
		return refuse(CodeRound, 0, "round %d was played: close it first", round)
	case s.queue.undecided > 0:
		return refuse(CodeOpenWork, 0, "the work of %d messages is not known", s.queue.undecided)
	case s.server.Partial().Awaits():
		return refuse(CodePolicy, 0, noEpochs, round)
	case s.group > 0:
		return refuse(CodePolicy, 0, "hubs have %d messages under way: cancel them or wait for them", s.group)
	case asked == 0 && s.waitsForAll:
		return refuse(CodePolicy, 0, "round %d asks no client: protocol %q would wait forever", round,
			s.setup.Config.Protocol)
	}
	endless := config.NewChecker()
	if s.setup.CheckEndless(endless); len(endless.Problems()) > 0 {
		return refuse(CodePolicy, 0, "%s", endless.Problems()[0].Error())
	}
	if err := s.once.check(all); err != nil {
		return err
	}
	return s.checkSend(round, all)
}

// busy reports whether a client is at a message.
func (s *Session) busy(client int) bool {
	return s.queue.current[client] >= 0 || s.server.Attempt(client).Expected
}

// ask hands messages to the protocol, and returns the bytes of the largest. Clients that are not
// available are asked, so that they count, but their messages are refused unless the protocol
// waits for them.
func (s *Session) ask(kind string, all []Message) (refused []Refusal, most float64) {
	q, c := &s.queue, s.clients
	c.CloseGroup()
	s.asked = s.asked[:0]
	for _, i := range q.add(kind, all, s.server.Rounds()) {
		m := &q.messages[i]
		client := m.Client
		if s.busy(client) {
			refused = append(refused, Refusal{ID: m.ID, Busy: true})
			q.withdraw(i)
			continue
		}
		s.asked = append(s.asked, int32(client))
		if !c.Available(client) && !s.waitsForAll {
			refused = append(refused, Refusal{ID: m.ID, Why: c.WhyUnavailable(client)})
			q.withdraw(i)
			continue
		}
		most = max(most, m.BytesDown)
		m.policy, m.state = true, underWay
		q.start(i)
		s.playing = append(s.playing, i)
	}
	return refused, most
}

// closePlay ends the messages that the protocol has ended without a response.
func (s *Session) closePlay() {
	keep := s.playing[:0]
	slices.SortFunc(s.playing, s.queue.byClient)
	for _, i := range s.playing {
		m := &s.queue.messages[i]
		switch {
		case m.ended():
		case s.server.Attempt(m.Client).Expected:
			keep = append(keep, i)
		default:
			if m.why == 0 {
				m.why = clients.Canceled
			}
			s.call.notify(m, NoticeFailure, s.Now())
			s.end(i, over)
		}
	}
	s.playing = keep
}

// Close closes the open round: the server takes the responses named, besides those that
// Round took, and computes for as long as its work takes it. Other responses are late, and
// so are those of messages under way, which continue. It returns the round's results; the
// figures of the model are unknown. Afterwards time passes until federation.min_available
// clients are available; if that can never be, the next call finds the run stalled. Ids of messages that have ended are
// unknown afterwards. Round 0, once and before everything else, is the state at the start.
func (s *Session) Close(round int, taken []int64, serverFLOPs float64) (results.Round, error) {
	if round == 0 && s.server.Rounds() == 0 && !s.began && !s.started {
		s.started = true
		return s.server.Accounts().First(), nil
	}
	if err := s.checkClose(round, taken, serverFLOPs); err != nil {
		return results.Round{}, err
	}
	s.begin()
	for _, id := range taken {
		s.queue.withID(id).awaited = true
	}
	if s.group == 0 {
		s.clients.CloseGroup()
	}
	s.settle()
	s.between(func() {
		if s.queue.undecided == 0 { // else it takes no time, in which no client may ask for its work
			s.server.Compute(serverFLOPs)
		}
	})
	if err := s.aborted(); err != nil {
		return results.Round{}, err
	}
	if s.chosen {
		s.server.Accounts().Limit(len(s.selected))
	}
	r := s.ended.Account()
	if s.chosen {
		r.Available = s.available
	}
	s.began, s.played, s.chosen = false, false, false
	if s.policy {
		s.awaitAvailable()
	}
	return r, nil
}

// Fail notes that the responses of messages report errors: Close counts their clients as dropped.
func (s *Session) Fail(ids []int64) error {
	for _, id := range ids {
		place, err := s.queue.place(id)
		if err != nil {
			return err
		}
		m := &s.queue.messages[place]
		if m.state != responded || m.policy {
			return refuse(CodeUnknownID, id, "message %d: has no response of the driver's own that can report an error",
				id)
		}
		m.broken = true
	}
	return nil
}

// awaitAvailable waits for federation.min_available clients before a round of the driver. While
// a client asks for its work the clock stands still.
func (s *Session) awaitAvailable() {
	if s.call.asking == 0 && s.queue.undecided == 0 {
		s.between(s.server.AwaitAvailable)
	}
}

// checkClose refuses a round that cannot be closed.
func (s *Session) checkClose(round int, taken []int64, serverFLOPs float64) error {
	if err := s.checkRound(round); err != nil {
		return err
	}
	if !amount(serverFLOPs) {
		return refuse(CodeValue, 0, "%g FLOPs of the server: must be finite and not negative", serverFLOPs)
	}
	if s.queue.undecided > 0 && serverFLOPs > 0 && s.setup.Config.ServerGFLOPS > 0 {
		return refuse(CodeOpenWork, 0, "the server's work takes time, and the work of %d messages is not known",
			s.queue.undecided)
	}
	for _, id := range taken {
		place, err := s.queue.place(id)
		if err != nil {
			return err
		}
		m := &s.queue.messages[place]
		if m.state != responded {
			return refuse(CodeUnknownID, id, "message %d: has no response to take", id)
		}
		if m.policy && !slices.Contains(s.taken, id) {
			return refuse(CodePolicy, id, "message %d: the protocol has not taken its response", id)
		}
	}
	return nil
}

// settle takes or refuses the responses of the round, in the order of clients, and
// forgets messages that have ended.
func (s *Session) settle() {
	q, accounts := &s.queue, s.server.Accounts()
	slices.SortFunc(q.finished, q.byClient)
	s.playing = slices.DeleteFunc(s.playing, func(i int32) bool { return q.messages[i].ended() })
	keep := q.finished[:0]
	for _, i := range q.finished {
		m := &q.messages[i]
		// the driver, or a later PlayRound, may take it
		if m.unread || m.policy && m.state == responded && s.server.Attempt(m.Client).Expected {
			keep = append(keep, i)
			continue
		}
		switch {
		case m.state != responded || m.policy:
		case m.query && m.awaited:
			accounts.Take(m.Client)
		case !m.update:
			s.server.Note(federation.ResponseRead, m.Client, 0)
		case m.awaited:
			accounts.Take(m.Client)
			s.sizes[m.Client] = [2]float64{m.BytesDown, m.BytesUp}
		case m.broken:
			s.drop(m, clients.DroppedOut)
		default:
			s.server.Note(federation.UpdateRefused, m.Client, 0)
			m.countLate(s.server.Accounts())
		}
		q.remove(i)
	}
	q.finished = keep
	for _, client := range s.dropped {
		accounts.Undrop(int(client))
	}
	s.dropped = s.dropped[:0]
	if q.open == 0 {
		return
	}
	for _, i := range q.current {
		if i >= 0 {
			if m := &q.messages[i]; !m.policy && (m.state == underWay || m.state == asking) {
				m.countLate(s.server.Accounts())
			}
		}
	}
}

// checkGroup refuses messages that cannot be a group of hubs.
func (s *Session) checkGroup(all []Message) error {
	if s.group > 0 {
		return refuse(CodePolicy, 0, "hubs have %d messages under way: cancel them or wait for them", s.group)
	}
	return s.once.check(all)
}

// sendGroup sends messages as a group of hubs.
func (s *Session) sendGroup(places []int32) {
	c := s.clients
	c.CloseGroup()
	s.members = s.members[:0]
	most := 0.0
	for _, i := range places {
		m := &s.queue.messages[i]
		if m.Expires != 0 {
			s.setTimer(i, m.Expires)
		}
		m.state = underWay
		s.queue.start(i)
		s.members = append(s.members, int32(m.Client))
		most = max(most, m.BytesDown)
	}
	s.group = len(places)
	c.SetBytesDown(most)
	c.OpenGroup(s.server.Rounds(), s.members, false)
	for _, i := range places {
		s.prepare(&s.queue.messages[i])
	}
	c.SendGroup(s.members)
}

// closeGroupOf closes the open group of hubs if messages that are canceled are all that
// it has left.
func (s *Session) closeGroupOf(ids []int64) {
	if s.group == 0 {
		return
	}
	s.call.name(&s.queue, ids)
	if s.call.left == s.group {
		s.clients.CloseGroup()
	}
	s.call.unname(&s.queue, ids)
}

const noEpochs = "round %d: federation.partial_share is positive: ask for the epochs of the cohort first"

// SelectEpochs is Select for a method of so many epochs. It returns also how many of them
// each client makes under federation.partial_share. Messages to a client that makes fewer
// have the FLOPs of those, and take it the time of all. With partial work, it must come
// before the messages of a round. The driver discards what federation.partial says unless
// Round does.
func (s *Session) SelectEpochs(round, epochs int) (clients, each []int32, err error) {
	if clients, err = s.Select(round); err != nil {
		return nil, nil, err
	}
	each = slices.Repeat([]int32{int32(epochs)}, len(clients))
	if p := s.server.Partial(); p != nil {
		if epochs < 2 {
			return nil, nil,
				refuse(CodeValue, 0,
					"%d epochs: must be at least 2 with federation.partial_share: a part of them is at least one",
					epochs)
		}
		p.Reset()
		p.Draw(clients, epochs)
		for i, client := range clients {
			if some, _ := p.Epochs(int(client)); some > 0 {
				each[i] = int32(some)
			}
		}
	}
	return clients, each, nil
}
