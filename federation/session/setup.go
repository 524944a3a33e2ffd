package session

import (
	"context"
	"fmt"

	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
)

// driverName names the other program in errors.
const driverName = "the driver"

// Setup describes a session.
type Setup struct {
	federation.Setup

	// StepFLOPs is the work of one step of the driver's method. Protocols that count
	// steps and selectors that expect times depend on it. 0: not known.
	StepFLOPs float64
	// PassFLOPs is the work of a pass over the rows of the smallest client, by which cost
	// "relative" measures transfers.
	PassFLOPs float64
	// Values is the number of values in a usual message, which selectors expect.
	Values int
	// Context ends a call that lasts; nil: nothing does.
	Context context.Context
}

// check reports settings that a session cannot live with.
func (s *Setup) check() error {
	c, f := config.NewChecker(), &s.Config
	c.Require(f.Cost != federation.Authors, "federation.cost", f.Cost, fmt.Sprintf(
		"must be %q or %q: the authors' drivers have no cost for %s", federation.Physical, federation.Relative,
		driverName))
	f.ValidatePartial(c.In("federation"))
	c.Require(!f.Traits().Groups, "federation.protocol", f.Protocol,
		fmt.Sprintf("must be another, such as %q: %s takes responses as it likes", protocols.Asynchronous, driverName))
	c.Require(!f.Traits().Asks, "federation.protocol", f.Protocol,
		fmt.Sprintf("must be another: %s has no messages to clients that are asked within a round", driverName))
	c.Require(!f.Traits().Weighs, "federation.protocol", f.Protocol,
		fmt.Sprintf("must be another: %s cannot give updates weights, which this protocol does", driverName))
	c.Require(f.Late == federation.Drop || f.Late == federation.Keep, "federation.late", f.Late,
		"must be left out: the program that drives fedsim averages updates itself")
	work := s.workload(nil)
	s.CheckLosses(c, &work)
	s.Check(c)
	return c.Err()
}

// workload describes the driver's work before the server asks for it.
func (s *Setup) workload(of *Session) federation.Workload {
	return federation.Workload{
		Name: driverName, PassFLOPs: s.PassFLOPs, StepFLOPs: s.StepFLOPs, Uncounted: s.StepFLOPs == 0,
		Bytes: func(int) (down, up float64) {
			bytes := of.clients.MessageBytes(s.Values)
			return bytes, bytes
		},
		NoLosses: fmt.Sprintf("must be another: %s cannot report the losses of clients", driverName),
		NoRowLosses: fmt.Sprintf(
			"must be another, or have options that need mean losses alone: %s cannot report the losses of single rows",
			driverName),
		CountUpdates: true,
	}
}
