package prediction

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/session"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/network"
)

// System is the system on which a run of a log is played.
type System struct {
	Scenario string   // file of the scenario, with everything but the fleet and the settings of the log
	Set      []string // assignments of keys beside those of the log, as those of --set
	Fleet    *fleets.Fleet
	Gap      float64 // time between two rounds that the server needs, in seconds
	Powers   bool    // the powers of the fleet are those of its devices, not assumed
	Seed     uint64
}

// plain are the settings of a run of which the log says nothing. Sizes, work and faults are the log's.
var plain = []string{
	"federation.protocol=wait-for-all", "federation.clients_per_round=",
	"federation.protocol_options.over_selection=1", "federation.deadline_s=", "federation.late=drop",
	"engine.detect_s=0",
	"devices.flops_scale=1", "network.bytes_scale=1", "faults.drop_probability=0",
}

// withoutRounds reports whether the server of a run took each response on arrival.
func withoutRounds(run *attemptlog.Run) bool {
	return run.Setting("federation.protocol") == protocols.Asynchronous
}

// Play plays the attempts of a run on a system.
func Play(ctx context.Context, run *attemptlog.Run, on *System) (*Played, error) {
	p, err := newPlayer(ctx, run, on)
	if err != nil {
		return nil, err
	}
	return p.predicted, p.play(run)
}

// newPlayer returns the player of a run, which has played nothing.
func newPlayer(ctx context.Context, run *attemptlog.Run, on *System) (*player, error) {
	p := &player{on: on, names: run.Clients(), rounds: training(run), predicted: &Played{}}
	setup, err := on.setup(ctx, run, p.names)
	if err != nil {
		return nil, err
	}
	setup.Journal, p.runtime, p.waitsForAll = p, setup.Network.InForce(), setup.Config.Traits().WaitsForAll
	p.keeps = setup.Config.KeepsLate()
	if p.session, err = session.New(*setup); err != nil {
		return nil, fmt.Errorf("run %s: %w", run.Name, err)
	}
	p.clients = map[string]int{}
	for i, name := range p.names {
		p.clients[name] = i
	}
	p.open, p.warm = make([]Attempt, len(p.names)), make([]bool, len(p.names))
	p.queues, p.working = make([][]*attemptlog.Attempt, len(p.names)), make([]bool, len(p.names))
	p.places = map[*attemptlog.Attempt]int{}
	for _, round := range p.rounds {
		for _, a := range round {
			p.add(a)
			if client := p.clients[a.Client]; asked(a) {
				p.queues[client] = append(p.queues[client], a)
			}
		}
	}
	return p, nil
}

func (p *player) play(run *attemptlog.Run) error {
	play := p.playRounds
	if withoutRounds(run) {
		play = p.playContinuously
	}
	if err := play(p.on.Gap); err != nil {
		return fmt.Errorf("run %s: %w", run.Name, err)
	}
	p.predicted.finish(run)
	return nil
}

func (sy *System) setup(ctx context.Context, run *attemptlog.Run, names []string) (*session.Setup, error) {
	// The log replaces the settings of the method.
	logged := slices.DeleteFunc(run.Overrides(), func(s string) bool { return strings.HasPrefix(s, "methods.") })
	set := slices.Concat(plain, logged, sy.Set, []string{
		fmt.Sprintf("data.external.clients=%d", len(names)), "data.external.rows=1", "fleet.assignment=",
	})
	if sy.Gap > 0 {
		set = append(set, "federation.server_gflops=1")
	}
	s, err := scenario.LoadDriven(sy.Scenario, set, scenario.Program{Method: "log", Seed: &sy.Seed})
	if err != nil {
		return nil, err
	}
	setup, _, err := experiment.Driven(ctx, &s.Experiments[0].Jobs[0].Candidates[0])
	if err != nil {
		return nil, err
	}
	setup.Fleet, setup.Context = sy.Fleet, ctx
	return setup, nil
}

type player struct {
	on          *System
	names       []string
	clients     map[string]int // places in names
	rounds      [][]*attemptlog.Attempt
	runtime     network.Runtime
	waitsForAll bool
	keeps       bool // the server takes late responses
	session     *session.Session
	predicted   *Played
	places      map[*attemptlog.Attempt]int // of the attempts of the log in predicted.Attempts
	open        []Attempt                   // by client, the present attempt
	warm        []bool                      // by client, it has computed
	working     []bool                      // by client, it is at a message
	queues      [][]*attemptlog.Attempt     // by client, its further messages, in the order of the log
	notices     []session.Notice
	// ends are, by attempt, when its client had sent its previous reply, on the server's clock: each
	// round begins with the polls that follow. nil: rounds begin as those before leave the clients.
	ends map[*attemptlog.Attempt]float64
}

// add adds an attempt without times.
func (p *player) add(a *attemptlog.Attempt) {
	nan := math.NaN()
	p.places[a] = len(p.predicted.Attempts)
	p.predicted.Attempts = append(p.predicted.Attempts, Attempt{
		Round: a.Round, Client: a.Client,
		Sent: nan, Seen: nan, Received: nan, Downlink: nan, Waiting: nan, Compute: nan, Uplink: nan, Energy: nan,
	})
}

// Note adds the spans of clients to their present attempts. The wait for the client's poll, before
// the downlink, is in none.
func (p *player) Note(e federation.Entry) {
	switch e.Kind {
	case federation.AttemptStarted:
		p.open[e.Device] = Attempt{Sent: e.From.Seconds(), Received: math.NaN()}
	case federation.ActivitySpan:
		a, length := &p.open[e.Device], (e.To - e.From).Seconds()
		switch e.Activity {
		case clients.Downlink:
			if math.IsNaN(a.Received) {
				a.Received = e.From.Seconds()
			}
			a.Downlink += length
		case clients.Compute:
			a.Compute += length
		case clients.Uplink:
			a.Uplink += length
		case clients.Waiting:
			if !math.IsNaN(a.Received) {
				a.Waiting += length
			}
		}
	}
}

// class returns the class of a client; of more than the classes of a fleet, the first one.
func (p *player) class(client int) *fleets.Class {
	if turn := p.on.Fleet.InTurn; len(turn) > 0 {
		client = int(turn[client%len(turn)])
	} else {
		client = 0
	}
	return &p.on.Fleet.Classes[client]
}

// asked reports whether the simulated server asks a client for an attempt of the log: a client that
// failed is not asked, since faults of the log are inputs.
func asked(a *attemptlog.Attempt) bool {
	return a.Outcome == attemptlog.Taken || a.Outcome == attemptlog.Late
}

// message returns the message of an attempt; its id is its place, from 1 on.
func (p *player) message(a *attemptlog.Attempt) session.Message {
	known := func(x float64) float64 {
		if math.IsNaN(x) {
			return 0
		}
		return x
	}
	return session.Message{
		ID: int64(p.places[a] + 1), Client: p.clients[a.Client], BytesDown: a.BytesDown, BytesUp: known(a.BytesUp),
		Work: devices.Work{FLOPs: a.LocalFLOPs(), Steps: known(a.Steps), Traffic: known(a.TrafficBytes)},
	}
}

// respond notes the response of a message.
func (p *player) respond(n session.Notice) {
	a, k := &p.predicted.Attempts[n.ID-1], p.class(n.Client)
	round, client := a.Round, a.Client
	*a = p.open[n.Client]
	a.Round, a.Client, a.Seen, a.Energy = round, client, n.At.Seconds(), math.NaN()
	if p.on.Powers {
		a.Energy = float64(k.ComputeW*a.Compute) + float64(k.IdleW*(a.Received-a.Sent+a.Downlink+a.Waiting+a.Uplink))
	}
	launch := p.runtime.LaunchS + p.runtime.LaunchGFLOP/(k.ClockGHz*k.FlopsPerCycle)
	if !p.warm[n.Client] {
		launch += p.runtime.ColdStartS
	}
	launch = min(launch, a.Compute) // a log has launches in wait_s
	a.Compute, a.Waiting, p.warm[n.Client] = a.Compute-launch, a.Waiting+launch, true
	latency := k.RTTms / 2000 // a log has transfers from their first byte on
	a.Received, a.Downlink, a.Uplink = a.Received+latency, max(0, a.Downlink-latency), max(0, a.Uplink-latency)
}

// playRounds lets the protocol of the run play its rounds.
func (p *player) playRounds(gap float64) error {
	number := 0
	for _, attempts := range p.rounds {
		round := Round{Begin: p.session.Now().Seconds()}
		for _, a := range attempts {
			round.Attempts = append(round.Attempts, p.places[a])
		}
		p.predicted.Rounds = append(p.predicted.Rounds, round)
		messages := p.ask(attempts)
		if len(messages) == 0 {
			continue
		}
		number++
		notices, taken, refused, err := p.session.PlayRound(number, session.Train, messages, p.notices[:0])
		if err != nil {
			return err
		}
		p.notices = notices
		p.hear(notices)
		inTime := map[int64]bool{}
		for i := range messages {
			inTime[messages[i].ID] = true
		}
		for _, r := range refused { // a client that the settings of the log make unavailable
			p.working[p.clients[p.predicted.Attempts[r.ID-1].Client]] = false
		}
		for _, id := range taken {
			p.predicted.Attempts[id-1].Taken = inTime[id]
		}
		if err := p.awaitLost(attempts, round.Begin); err != nil {
			return err
		}
		if _, err := p.session.Close(number, nil, gap*1e9); err != nil {
			return err
		}
	}
	return nil
}

// ask returns the messages of a round: to as many clients as in the log, and to the same ones. In place of a
// client that is still at work the server asks an idle one, that of the next message in the log.
func (p *player) ask(attempts []*attemptlog.Attempt) (messages []session.Message) {
	var wanted, others []int
	named := make([]bool, len(p.names))
	for _, a := range attempts {
		if client := p.clients[a.Client]; asked(a) && !named[client] {
			wanted, named[client] = append(wanted, client), true
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(wanted), func(client int) bool { return p.working[client] })
	for client := range p.queues {
		if !p.working[client] && len(p.queues[client]) > 0 && !named[client] {
			others = append(others, client)
		}
	}
	next := func(client int) int { return p.places[p.queues[client][0]] }
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(next(a), next(b)) })
	for _, client := range append(chosen, others[:min(len(others), len(wanted)-len(chosen))]...) {
		a := p.queues[client][0]
		if p.queues[client] = p.queues[client][1:]; len(p.queues[client]) == 0 && p.keeps {
			again := *a // the server may ask the client more often than in the log
			p.add(&again)
			p.queues[client] = append(p.queues[client], &again)
		}
		p.working[client] = true
		p.setPoll(client, a)
		messages = append(messages, p.message(a))
	}
	return messages
}

// hear notes which messages have ended, and the responses.
func (p *player) hear(notices []session.Notice) {
	for _, n := range notices {
		p.working[n.Client] = false
		if n.Kind == session.NoticeResponse {
			p.respond(n)
		}
	}
}

// awaitLost lets the server wait engine.detect_s for responses that were lost, up to its next poll,
// if it waits for all. Of a failure it hears at once.
func (p *player) awaitLost(attempts []*attemptlog.Attempt, begin float64) error {
	lost := slices.ContainsFunc(attempts, func(a *attemptlog.Attempt) bool { return a.Outcome == attemptlog.Lost })
	if !lost || !p.waitsForAll {
		return nil
	}
	length := p.session.DetectAfter()
	if period := engine.FromSeconds(p.runtime.ServerPollS); period > 0 {
		length = network.NextPoll(0, period, length)
	}
	_, _, err := p.session.Advance(max(p.session.Now(), engine.FromSeconds(begin).Add(length)), nil)
	return err
}

// playContinuously sends each client its next message when its response arrives. The server takes as
// many responses as in the log: those that arrive first.
func (p *player) playContinuously(float64) error {
	take := 0
	for a := range p.places {
		if a.Outcome == attemptlog.Taken {
			take++
		}
	}
	waiting := map[int64]bool{}
	send := func(client int) error {
		if len(p.queues[client]) == 0 {
			return nil
		}
		m := p.message(p.queues[client][0])
		p.queues[client] = p.queues[client][1:]
		waiting[m.ID] = true
		_, err := p.session.Send(1, session.Train, []session.Message{m})
		return err
	}
	for client := range p.queues {
		if err := send(client); err != nil {
			return err
		}
	}
	for len(waiting) > 0 {
		notices, _, err := p.session.Wait(slices.Sorted(maps.Keys(waiting)), 1, engine.Never, p.notices[:0])
		if err != nil {
			return err
		}
		p.notices = notices
		for _, n := range notices {
			delete(waiting, n.ID)
			if n.Kind == session.NoticeResponse {
				p.respond(n)
				p.predicted.Attempts[n.ID-1].Taken = take > 0
				take--
			}
			if err := send(int(n.Client)); err != nil {
				return err
			}
		}
	}
	return nil
}
