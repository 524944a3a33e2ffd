package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/state"
)

// versionedModel is the state of methods without rounds that share one model: the server
// takes responses to whatever versions of w the devices were sent. Under a protocol with
// rounds, a round is a Send to every device that is not at work.
type versionedModel struct {
	kit.GlobalModel
	sent   versions
	steps  int     // server steps: the version of w
	rounds bool    // a round is open, or was: devices hold what Begin sent
	served float64 // FLOPs of the server in the open round
	refuse int     // the staleness from which on the server refuses responses; 0: it takes all
	old    []int32 // see obsolete
	// receive takes the change of a device, which is so many steps old, and returns the FLOPs.
	receive func(device, staleness int) (flops float64)
}

func newVersionedModel(s algorithms.Setup, o kit.AverageOptions, mu float64, refuse int) versionedModel {
	return versionedModel{GlobalModel: kit.NewGlobalModel(s, o, mu), sent: newVersions(s.Problem.Clients()),
		refuse: refuse}
}

// versioned describes a method without rounds, whose server computes so many FLOPs for each response and each step,
// on so many responses, and takes those up to a staleness; 0: all. Otherwise its work depends on what it refuses.
func versioned(response, step float64, every, most int) algorithms.Description {
	d := algorithms.Description{Model: algorithms.Versions, Asynchronous: algorithms.Yes,
		Protocol: algorithms.WithoutRounds, Messages: algorithms.Messages{Coded: true}}
	if most == 0 {
		d.Work.Server = &algorithms.ServerWork{Response: response, Step: step, Every: every}
	}
	return d
}

// above returns the staleness from which on a server refuses responses that accepts at most so
// many steps; 0: all.
func above(most int) int {
	if most == 0 {
		return 0
	}
	return most + 1
}

// Send fixes the present w as the device's start. It does not fail.
func (m *versionedModel) Send(device int) (int, error) {
	amount := m.Link.Send(device, m.steps, m.Weights())
	m.sent.send(device, m.steps, m.Shown())
	return amount, nil
}

// Solve makes the device's local steps from the w it was sent. The schedule of step sizes
// counts the server's steps before that w.
func (m *versionedModel) Solve(r algorithms.Request) algorithms.Response {
	from, version := m.sent.held(r.Device)
	r.Round = version
	return m.SolveFrom(r, from)
}

// staleness returns how many steps the server has taken since it sent the device its w.
func (m *versionedModel) staleness(device int) int {
	_, version := m.sent.held(device)
	return m.steps - version
}

// Receive takes the device's change, unless it is older than allowed.
func (m *versionedModel) Receive(device int) (taken bool, flops float64, err error) {
	staleness := m.staleness(device)
	defer m.Discard(device)
	if m.refuse > 0 && staleness >= m.refuse {
		return false, m.Link.Take(), nil
	}
	m.Link.Commit(device)
	flops = m.receive(device, staleness)
	return true, flops + m.Link.Take(), nil
}

// stopOld makes the server stop devices whose responses it would refuse.
func (m *versionedModel) stopOld() { m.About.Obsolete = m.obsolete }

// obsolete returns the devices that were sent a w from as many steps ago as the server refuses, or more.
func (m *versionedModel) obsolete() []int32 {
	m.old = m.sent.holders(m.steps-m.refuse, m.old[:0])
	return m.old
}

// Commit hands the device's response to the server.
func (m *versionedModel) Commit(device int, _ float64) {
	_, flops, _ := m.Receive(device)
	m.served += flops
}

// State codes the model and the messages to the devices.
func (m *versionedModel) State(c *state.Coder) {
	m.GlobalModel.State(c)
	m.sent.state(c, m.W.Cols)
	c.Int(&m.steps)
	c.Bool(&m.rounds)
}

// Discard forgets the device's change and the model sent to it, unless it may be asked again in
// the open round.
func (m *versionedModel) Discard(device int) {
	m.GlobalModel.Discard(device)
	if !m.rounds {
		m.sent.release(device)
	}
}

// Begin opens a round: each device is sent w, except those whose work of an earlier round is
// under way. Their responses will be late, and stale.
func (m *versionedModel) Begin() (algorithms.Sent, error) {
	m.served, m.rounds = 0, true
	amount := m.W.Cols
	for k := range m.Problem.Clients() {
		if !m.Changes.Has(k) {
			amount, _ = m.Send(k)
		}
	}
	return m.Link.Sent(amount), nil
}

// End returns the FLOPs of the round's server steps.
func (m *versionedModel) End() (float64, error) { return m.served, nil }
