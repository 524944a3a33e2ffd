package federation

import (
	"fmt"
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// Selection is a selector's view of a round that opens: the clients available now, their
// rows and expected response times, and the history and losses that they have reported. It
// shows nothing of the future. It is valid until Select returns.
type Selection struct {
	Round int // rounds of the run before this one; outer iterations do not restart the count
	Size  int // clients to select: as many as the server asks, or all available where those are fewer

	server    *Server
	declared  SelectorFactory
	seed      uint64
	clients   int
	asked     int     // clients that the server asks in a round
	partial   bool    // some clients are not available: available lists those that are
	available []int32 // ascending
	listed    bool    // available is up to date
	stream    Stream
	losses    []float64
	estimates []Estimate
	inquiry   engine.Time // how long the reports of Estimates and batteries take
	battery   []float64   // by client, of the reports when the round opened; NaN: unknown
	charging  []bool      // likewise
	draw      draw
}

// Stream is a source of random numbers.
type Stream = rng.Stream

// History is the server's record of a client's earlier rounds.
type History struct {
	Asked     int32       // rounds in which the server asked the client
	LastAsked int32       // Selection.Round of the last of them; -1: there was none
	Responses int32       // responses that have arrived; the fields below are of the last
	Round     int32       // Selection.Round of the round that asked for it
	Time      engine.Time // from the start of that round until it arrived
	// Loss is the mean loss over the client's training rows of the global model that it
	// was sent. The client reports it with its response. NaN unless the selector's
	// factory declares Losses.
	Loss float64
	// RMS is the root mean square of the losses of the client's training rows under the
	// same model. NaN unless the selector's factory declares RowLosses.
	RMS float64
}

// newSelection returns the selections of a run that asks so many of its clients.
func newSelection(f *Server, seed uint64, asked, clients int) Selection {
	return Selection{server: f, seed: seed, asked: asked, clients: clients}
}

// open prepares the selection of a round. Unless some clients are not available, all
// are.
func (s *Selection) open(round int, partial bool, available []int32) {
	n := s.clients
	if partial {
		n = len(available)
	}
	s.Round, s.Size = round, min(s.asked, n)
	s.partial, s.listed, s.available = partial, partial, available
	s.inquiry = 0
	s.stream = rng.New(s.seed, rng.Selection, -1, round)
}

// Rehearse opens the selection of a round that the server does not play, for tests of a selector: of so
// many clients out of those listed (nil: all), whose past is given by client (nil: that of the last call).
func (s *Server) Rehearse(declared SelectorFactory, round, size int, available []int32, past []History) *Selection {
	s.selection.declared, s.selection.asked = declared, size
	if s.accounts.reports == nil || past != nil {
		s.accounts.reports = newReports(s.setup.Clients, declared)
	}
	for client, h := range past {
		s.accounts.reports.clients[client].History = h
	}
	s.selection.open(round, available != nil, available)
	if declared.Batteries {
		s.selection.readBatteries()
	}
	return &s.selection
}

// Now returns the virtual time.
func (s *Selection) Now() engine.Time { return s.server.clients.Now() }

// Clients returns the number of clients of the run. They are numbered from 0.
func (s *Selection) Clients() int { return s.clients }

// Len returns the number of clients that are available.
func (s *Selection) Len() int {
	if s.partial {
		return len(s.available)
	}
	return s.clients
}

// At returns available client i in ascending order, 0 <= i < Len(). It makes no list
// where all clients are available.
func (s *Selection) At(i int) int32 {
	if s.partial {
		return s.available[i]
	}
	return int32(i)
}

// Available lists the clients that are available, in ascending order. The list must
// not be changed.
func (s *Selection) Available() []int32 {
	if !s.listed {
		s.available = s.available[:0]
		for client := range s.clients {
			s.available = append(s.available, int32(client))
		}
		s.listed = true
	}
	return s.available
}

// Owes reports whether a client is not available because it still owes a late response.
func (s *Selection) Owes(client int32) bool { return s.server.attempts.device(int(client)).chosen }

// Askable reports whether a client is available and owes no response. It may be called from several
// goroutines at once.
func (s *Selection) Askable(client int32) bool {
	f := s.server
	owes := f.attempts.devices.Has(int(client)) && f.attempts.device(int(client)).chosen
	return !owes && f.clients.Askable(int(client))
}

// Rows returns the number of training rows of a client.
func (s *Selection) Rows(client int32) int { return s.server.setup.RowsOf(int(client)) }

// ExpectedResponse returns how long a client usually takes to receive the model, pass
// once over its rows, and send its response. Jitter, drops and the traces of a run do
// not change it.
func (s *Selection) ExpectedResponse(client int32) engine.Time {
	return s.server.estimates.response(int(client))
}

// History returns the record of a client's earlier rounds. The factory must
// declare History.
func (s *Selection) History(client int32) History {
	s.require(s.declared.History, "History", "History")
	return s.server.accounts.reports.of(int(client))
}

// require ends the run of a selector that calls what its factory does not declare.
func (s *Selection) require(declared bool, call, field string) {
	if !declared {
		panic(fmt.Sprintf("federation: selector %s calls Selection.%s and does not declare %s in its factory",
			s.declared.Name, call, field))
	}
}

// Losses returns the mean loss of the present global model over the training rows of
// each of the clients, in their order. It takes no virtual time. The factory must
// declare Losses. The slice is valid until the next call.
func (s *Selection) Losses(clients []int32) []float64 {
	s.require(s.declared.Losses, "Losses", "Losses")
	s.server.attempts.losses.Losses(clients, s.fresh(len(clients)))
	return s.losses
}

// SampledLosses is Losses over a mini-batch of so many rows of each client, drawn at random
// without replacement; all rows of a client that has fewer. The factory must declare
// SampledLosses.
func (s *Selection) SampledLosses(clients []int32, rows int) []float64 {
	s.require(s.declared.SampledLosses, "SampledLosses", "SampledLosses")
	s.server.attempts.losses.SampledLosses(clients, rows, s.drawn, s.fresh(len(clients)))
	return s.losses
}

// fresh returns the list of losses with so many zeros.
func (s *Selection) fresh(n int) []float64 {
	s.losses = append(s.losses[:0], make([]float64, n)...)
	return s.losses
}

// Estimate is a client's own estimate of its response if it is asked now.
type Estimate struct {
	Down, Compute, Up engine.Time
}

// Length returns how long the whole response takes.
func (e Estimate) Length() engine.Time { return e.Down.Add(e.Compute).Add(e.Up) }

// Estimates requests of available clients how long their responses would take, and returns
// the reports: their transfers at the usual rates and their usual work at the present
// speed. Request and report have so many bytes each, which count with their energy. The
// round's messages leave when the last report has arrived, after the usual transfer times;
// the selector chooses before that. The factory must declare Estimates. The slice is valid
// until the next call.
func (s *Selection) Estimates(clients []int32, bytes float64) []Estimate {
	s.require(s.declared.Estimates, "Estimates", "Estimates")
	s.estimates = s.estimates[:0]
	for _, client := range clients {
		down, up := s.server.work.Bytes(int(client))
		c := s.server.clients
		s.inquiry = max(s.inquiry, c.Exchange(int(client), bytes, bytes))
		waits := c.MeanPollWait().Add(c.MeanLaunchWait()) // clients wait at the same time, as they compute
		length := c.UsualDownlink(int(client), down)
		compute := c.PresentCompute(int(client), length, s.server.estimates.usual(int(client))).Add(waits)
		s.estimates = append(s.estimates, Estimate{length, compute, c.UsualUplink(int(client), up)})
	}
	return s.estimates
}

// Battery returns the state of charge of a client as a share of full, as the client reported
// it when the round opened. It is NaN for a client without a battery, and for one that is not
// available. The factory must declare Batteries.
func (s *Selection) Battery(client int32) float64 {
	s.require(s.declared.Batteries, "Battery", "Batteries")
	return s.battery[client]
}

// Charging reports whether a client was plugged in when the round opened, by its report. A
// client without a battery is; one that is not available is not. The factory must declare
// Batteries.
func (s *Selection) Charging(client int32) bool {
	s.require(s.declared.Batteries, "Charging", "Batteries")
	return s.charging[client]
}

// readBatteries requests a report of the battery of every available client.
func (s *Selection) readBatteries() {
	if s.battery == nil {
		s.battery, s.charging = make([]float64, s.clients), make([]bool, s.clients)
	}
	clear(s.charging)
	for client := range s.battery {
		s.battery[client] = math.NaN()
	}
	for i := range s.Len() {
		client := s.At(i)
		s.battery[client], s.charging[client] = s.server.ReadBattery(int(client), s.declared.ReportBytes)
	}
}

// Parallel calls a function for 0 to n - 1 on all cores, with the number of the worker.
func (s *Selection) Parallel(n int, call func(i, worker int)) { s.server.setup.Pool.For(n, call) }

// Inquiry returns how long the reports of batteries and of Estimates take.
func (s *Selection) Inquiry() engine.Time { return s.inquiry }

// Server returns the random numbers of the server in this round. It is one stream,
// which the draws of Uniform continue.
func (s *Selection) Server() *Stream { return &s.stream }

// Client returns the random numbers of a client in this round: the same whenever it is
// called.
func (s *Selection) Client(client int32) Stream {
	return rng.New(s.seed, rng.Selection, int(client), s.Round)
}
