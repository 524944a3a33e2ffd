package federation

import (
	"fmt"
	"math"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// Selection is a selector's view of a round that opens: the clients available now, their
// rows and expected response times, and the history and losses that they have reported. It
// shows nothing of the future. It is valid until Select returns.
type Selection struct {
	Round int // rounds of the run before this one; outer iterations do not restart the count
	Size  int // clients to select: as many as the server asks, or all available where those are fewer

	f         *Federation
	declared  SelectorFactory
	seed      uint64
	clients   int
	asked     int     // clients that the server asks in a round
	partial   bool    // some clients are not available: available lists those that are
	available []int32 // ascending
	listed    bool    // available is up to date
	stream    Stream
	losses    []float64
	draw      draw
}

// Stream is a source of random numbers.
type Stream = rng.Stream

// History is the server's record of a client's earlier rounds.
type History struct {
	Asked     int32       // rounds in which the server asked the client
	Responses int32       // responses that have arrived; the fields below are of the last
	Round     int32       // Selection.Round of the round that asked for it
	Time      engine.Time // from the start of that round until it arrived
	// Loss is the mean loss over the client's training rows of the global model that it
	// was sent. The client reports it with its response. NaN unless the selector's
	// factory declares Losses.
	Loss float64
}

// newSelection returns the selections of a run that asks so many of its clients.
func newSelection(f *Federation, seed uint64, asked, clients int) Selection {
	return Selection{f: f, seed: seed, asked: asked, clients: clients}
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
	s.stream = rng.New(s.seed, rng.Selection, -1, round)
}

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
		for t := range s.clients {
			s.available = append(s.available, int32(t))
		}
		s.listed = true
	}
	return s.available
}

// Rows returns the number of training rows of a client.
func (s *Selection) Rows(client int32) int { return int(s.f.setup.Size.Rows[client]) }

// ExpectedResponse returns how long a client usually takes to receive the model, pass
// once over its rows, and send its response. Jitter, drops and the traces of a run do
// not change it.
func (s *Selection) ExpectedResponse(client int32) engine.Time {
	return s.f.expectedResponse(int(client))
}

// History returns the record of a client's earlier rounds. The factory must
// declare History.
func (s *Selection) History(client int32) History {
	if !s.declared.History {
		s.undeclared("History")
	}
	return s.f.reports.of(int(client))
}

// undeclared ends the run of a selector that calls what its factory does not declare.
func (s *Selection) undeclared(call string) {
	panic(fmt.Sprintf("federation: selector %s calls Selection.%s and does not declare %s in its factory", s.declared.Name, call, call))
}

// Losses returns the mean loss of the present global model over the training rows of
// each of the clients, in their order. It takes no virtual time. The factory must
// declare Losses. The slice is valid until the next call.
func (s *Selection) Losses(clients []int32) []float64 {
	if !s.declared.Losses {
		s.undeclared("Losses")
	}
	s.losses = append(s.losses[:0], make([]float64, len(clients))...)
	if !s.f.replaying() {
		s.f.losses(clients, s.losses)
	}
	for i := range s.losses {
		s.losses[i] = math.Float64frombits(s.f.recorded(func() uint64 { return math.Float64bits(s.losses[i]) }))
	}
	return s.losses
}

// Server returns the random numbers of the server in this round. It is one stream,
// which the draws of Uniform continue.
func (s *Selection) Server() *Stream { return &s.stream }

// Client returns the random numbers of a client in this round: the same whenever it is
// called.
func (s *Selection) Client(client int32) Stream {
	return rng.New(s.seed, rng.Selection, int(client), s.Round)
}
