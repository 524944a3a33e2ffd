package clients

import (
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/roster"
	"fedsim/network"
)

// message is the downlink or the uplink of an attempt.
type message struct {
	client int
	way    network.Direction
	bytes  float64
	length engine.Time // of the transfer, without interruption
}

// moved returns how many bytes have arrived after a share of a transfer whose latency is a
// share of it too. Latency comes before the bytes, and bytes are whole.
func moved(bytes, share, latency float64) float64 {
	switch {
	case share >= 1:
		return bytes
	case share <= latency:
		return 0
	default:
		return math.Floor(float64(bytes*(share-latency)) / (1 - latency))
	}
}

// messageSizes are the sizes of the messages that clients download. They are one number
// until they differ.
type messageSizes struct {
	roster    *roster.Roster
	same      float64                 // the size of the messages that are prepared from now on; -1: none was set
	each      *roster.Column[float64] // nil: they have not differed yet
	addressed bool                    // set, not setAll, determines the next messages
}

func (s *messageSizes) setAll(bytes float64) {
	s.addressed = false
	if bytes == s.same {
		return
	}
	if s.same >= 0 && s.each == nil { // attempts may be under way with the size before
		s.differ()
	}
	s.same = bytes
}

func (s *messageSizes) set(client int, bytes float64) {
	if s.each == nil {
		s.differ()
	}
	s.addressed, *s.each.At(client) = true, bytes
}

func (s *messageSizes) differ() {
	same := s.same
	s.each = roster.NewColumn(s.roster, func(int) float64 { return same })
}

// prepare gives the next message to a client its size.
func (s *messageSizes) prepare(client int) {
	if s.each != nil && !s.addressed {
		*s.each.At(client) = s.same
	}
}

func (s *messageSizes) of(client int) float64 {
	if s.each == nil {
		return s.same
	}
	return *s.each.At(client)
}
