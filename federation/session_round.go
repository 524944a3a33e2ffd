package federation

import (
	"cmp"
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/results"
)

// Round sends messages and lets the scenario's protocol play the open round with them,
// once: it decides when the round ends, whom it asks again, and which responses the server
// takes. Round returns what happened until then like Wait, and which messages were taken.
// The driver learns of failures when the round ends. If the protocol keeps late responses,
// their messages end in a later call, and a later Round takes them. Close must follow.
//
// Messages to clients that are not available are refused, unless the protocol waits for
// all: then it asks them when they become available.
func (s *Session) Round(round int, kind string, all []Message, into []Notice) (notices []Notice, taken []int64, refused []Refusal, err error) {
	if err := s.checkPlay(round, all); err != nil {
		return into, nil, nil, err
	}
	f := s.f
	s.takeBacklog(into)
	s.begin()
	f.open.began = s.Now()
	refused = s.ask(kind, all)
	f.open.ended, s.played, s.inRound = false, true, true
	s.taken = s.taken[:0]
	f.reports.ask(f.open.asked, f.round, s.Now())
	s.need = math.MaxInt
	f.openRound()
	if !f.aborted() && !f.open.ended {
		s.run(engine.Never)
	}
	s.inRound = false
	if !f.aborted() && !f.open.ended {
		f.stalled = f.whyNotEnded()
	}
	if !f.aborted() {
		f.clients.CloseGroup()
		f.countResponses()
		f.close()
		s.endPlay()
	}
	notices, s.out = s.out, nil
	return notices, s.taken, refused, s.aborted()
}

// checkPlay refuses messages that the protocol cannot play the open round with.
func (s *Session) checkPlay(round int, all []Message) error {
	asked := 0
	for i := range all {
		m := &all[i]
		if m.Undecided || m.Expires != 0 {
			return refuse(CodePolicy, m.ID, "message %d: must say its work and not expire in a round that a protocol plays", m.ID)
		}
		if t := m.Device; t >= 0 && t < len(s.at) && !s.busy(t) {
			asked++
		}
	}
	f := s.f
	switch {
	case !s.policy:
		return refuse(CodePolicy, 0, "protocol %q has no rounds: send and wait", Asynchronous)
	case s.played && round == f.round+1:
		return refuse(CodeRound, 0, "round %d was played: close it first", round)
	case s.unsaid > 0:
		return refuse(CodeOpenWork, 0, "the work of %d messages is not known", s.unsaid)
	case f.part.waits(f.round):
		return refuse(CodePolicy, 0, noEpochs, round)
	case s.group > 0:
		return refuse(CodePolicy, 0, "hubs have %d messages under way: cancel them or wait for them", s.group)
	case asked == 0 && f.traits.WaitsForAll:
		return refuse(CodePolicy, 0, "round %d asks no client: protocol %q would wait forever", round, f.setup.Config.Protocol)
	}
	endless := config.NewChecker()
	if f.checkEndless(endless); len(endless.Problems()) > 0 {
		return refuse(CodePolicy, 0, "%s", endless.Problems()[0].Error())
	}
	if err := s.checkOnce(all); err != nil {
		return err
	}
	return s.checkSend(round, all)
}

// checkOnce refuses two messages to a client.
func (s *Session) checkOnce(all []Message) error {
	if s.marks == nil {
		s.marks = make([]int, len(s.at))
	}
	s.calls++
	for i := range all {
		t := all[i].Device
		if t < 0 || t >= len(s.at) {
			continue // see checkMessage
		}
		if s.marks[t] == s.calls {
			return refuse(CodeDevice, all[i].ID, "message %d: device %d: has another message of this call", all[i].ID, t)
		}
		s.marks[t] = s.calls
	}
	return nil
}

// busy reports whether a client is at a message.
func (s *Session) busy(t int) bool { return s.at[t] >= 0 || s.f.devices[t].chosen }

// ask hands messages to the protocol. Clients that are not available are asked, so that
// they count, but their messages are refused unless the protocol waits for them.
func (s *Session) ask(kind string, all []Message) (refused []Refusal) {
	f, c := s.f, s.f.clients
	c.CloseGroup()
	s.asked = s.asked[:0]
	most := 0.0
	for _, i := range s.enlist(kind, all) {
		m := &s.messages[i]
		t := m.Device
		if s.busy(t) {
			refused = append(refused, Refusal{ID: m.ID, Busy: true})
			s.forget(i)
			continue
		}
		s.asked = append(s.asked, int32(t))
		if !c.Available(t) && !f.traits.WaitsForAll {
			refused = append(refused, Refusal{ID: m.ID, Why: c.WhyUnavailable(t)})
			s.forget(i)
			continue
		}
		most = max(most, m.BytesDown)
		m.policy, m.state = true, underWay
		s.at[t], s.last[t] = i, i
		s.playing = append(s.playing, i)
	}
	f.open.asked = s.asked
	c.SetBytesDown(most)
	return refused
}

// setBytesDown sets the size of the message to device t, whose attempt is prepared.
func (s *Session) setBytesDown(t int) {
	if i := s.at[t]; i >= 0 {
		s.f.clients.SetBytesDown(s.messages[i].BytesDown)
	}
}

// setWork sets the work of device t.
func (s *Session) setWork(t int) {
	m := &s.messages[s.at[t]]
	s.f.clients.SetWork(t, m.FLOPs, m.BytesUp)
}

// take hears that the protocol takes the response of device t.
func (s *Session) take(t int) {
	s.taken = append(s.taken, s.answer[t])
	m := &s.messages[s.ids[s.answer[t]]]
	s.sizes[t] = [2]float64{m.BytesDown, m.BytesUp}
}

// endPlay ends the messages that the protocol has ended without a response.
func (s *Session) endPlay() {
	keep := s.playing[:0]
	slices.SortFunc(s.playing, func(a, b int32) int { return cmp.Compare(s.messages[a].Device, s.messages[b].Device) })
	for _, i := range s.playing {
		m := &s.messages[i]
		switch {
		case m.ended():
		case s.f.devices[m.Device].chosen:
			keep = append(keep, i)
		default:
			if m.why == 0 {
				m.why = clients.Canceled
			}
			s.tell(m, NoticeFailure)
			s.end(i, over)
		}
	}
	s.playing = keep
}

// Close closes the open round: the server takes the responses named, besides those that
// Round took, and computes for as long as its work takes it. Other responses are late, and
// so are those of messages under way, which continue. It returns the round's results; the
// figures of the model are unknown. Afterwards time passes until federation.min_available
// clients are available; if that can never be, the next call finds the run stalled. Ids of messages that have ended are unknown
// afterwards. Round 0, once and before everything else, is the state at the start.
func (s *Session) Close(round int, taken []int64, serverFLOPs float64) (results.Round, error) {
	f := s.f
	if round == 0 && f.round == 0 && !s.began && !s.started {
		s.started = true
		return results.NewRound(), nil
	}
	if err := s.checkClose(round, taken, serverFLOPs); err != nil {
		return results.Round{}, err
	}
	s.begin()
	for _, id := range taken {
		s.messages[s.ids[id]].named = true
	}
	if s.group == 0 {
		f.clients.CloseGroup()
	}
	s.settle()
	s.between(func() {
		if s.unsaid == 0 { // else it takes no time, in which no client may ask for its work
			f.serverWork(serverFLOPs)
		}
	})
	if err := s.aborted(); err != nil {
		return results.Round{}, err
	}
	if s.chosen && f.tally.asked > 0 && f.tally.asked >= len(s.selected) { // all that it could
		f.tally.asked = f.selection.asked
	}
	r := f.account()
	if s.chosen {
		r.Available = s.available
	}
	s.began, s.played, s.chosen = false, false, false
	if s.policy {
		s.awaitAvailable()
	}
	return r, nil
}

// checkClose refuses a round that cannot be closed.
func (s *Session) checkClose(round int, taken []int64, serverFLOPs float64) error {
	if err := s.checkRound(round); err != nil {
		return err
	}
	if !amount(serverFLOPs) {
		return refuse(CodeValue, 0, "%g FLOPs of the server: must be finite and not negative", serverFLOPs)
	}
	if s.unsaid > 0 && serverFLOPs > 0 && s.f.setup.Config.ServerGFLOPS > 0 {
		return refuse(CodeOpenWork, 0, "the server's work takes time, and the work of %d messages is not known", s.unsaid)
	}
	for _, id := range taken {
		place, err := s.place(id)
		if err != nil {
			return err
		}
		m := &s.messages[place]
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
	f := s.f
	byDevice := func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.messages[a].Device, s.messages[b].Device), cmp.Compare(s.messages[a].ID, s.messages[b].ID))
	}
	slices.SortFunc(s.said, byDevice)
	s.playing = slices.DeleteFunc(s.playing, func(i int32) bool { return s.messages[i].ended() })
	keep := s.said[:0]
	for _, i := range s.said {
		m := &s.messages[i]
		if m.untold || m.policy && m.state == responded && f.devices[m.Device].chosen { // the driver, or a later Round, may take it
			keep = append(keep, i)
			continue
		}
		switch {
		case m.state != responded || m.policy:
		case m.query && m.named:
			f.take(m.Device)
		case !m.train:
			f.note(ResponseRead, m.Device, 0)
		case m.named:
			f.take(m.Device)
			s.sizes[m.Device] = [2]float64{m.BytesDown, m.BytesUp}
		default:
			f.note(UpdateRefused, m.Device, 0)
			s.countLate(m)
		}
		delete(s.ids, m.ID)
		s.free = append(s.free, i)
	}
	s.said = keep
	for _, t := range s.dropped {
		if d := &f.devices[t]; !d.chosen {
			d.dropped = false
		}
	}
	s.dropped = s.dropped[:0]
	if s.open == 0 {
		return
	}
	for _, i := range s.at {
		if i >= 0 {
			if m := &s.messages[i]; !m.policy && (m.state == underWay || m.state == asking) {
				s.countLate(m)
			}
		}
	}
}

// checkGroup refuses messages that cannot be a group of hubs.
func (s *Session) checkGroup(all []Message) error {
	if s.group > 0 {
		return refuse(CodePolicy, 0, "hubs have %d messages under way: cancel them or wait for them", s.group)
	}
	return s.checkOnce(all)
}

// sendGroup sends messages as a group of hubs.
func (s *Session) sendGroup(places []int32) {
	c := s.f.clients
	c.CloseGroup()
	s.order, s.members = places, s.members[:0]
	most := 0.0
	for _, i := range places {
		m := &s.messages[i]
		if m.Expires != 0 {
			s.setTimer(i, m.Expires)
		}
		m.state = underWay
		s.at[m.Device], s.last[m.Device] = i, i
		s.members = append(s.members, int32(m.Device))
		most = max(most, m.BytesDown)
	}
	s.group = len(places)
	c.SetBytesDown(most)
	c.OpenGroup(s.f.round, s.members, false)
	for _, i := range places {
		s.prepare(&s.messages[i])
	}
	c.SendGroup(s.members)
}

// closeGroupOf closes the open group of hubs if messages that are canceled are all that
// it has left.
func (s *Session) closeGroupOf(ids []int64) {
	if s.group == 0 {
		return
	}
	s.name(ids)
	if s.left == s.group {
		s.f.clients.CloseGroup()
	}
	s.unname(ids)
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
	if p := s.f.part; p != nil {
		if epochs < 2 {
			return nil, nil, refuse(CodeValue, 0, "%d epochs: must be at least 2 with federation.partial_share: a part of them is at least one", epochs)
		}
		for t := range p.epochs {
			p.epochs[t] = 0
			s.f.clients.SetSlower(t, 1)
		}
		p.all = epochs
		p.draw(s.f, clients)
		for i, t := range clients {
			if few := p.epochs[t]; few > 0 {
				each[i] = few
			}
		}
	}
	return clients, each, nil
}
