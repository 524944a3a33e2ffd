package federation_test

import (
	"math"

	"github.com/google/go-cmp/cmp"

	"fedsim/federation"
	"fedsim/federation/protocols"
	_ "fedsim/federation/selectors"
	"fedsim/federation/servertest"
	_ "fedsim/internal/tools/rapidseed"
)

// The tests of the server, with the names of package servertest.
const (
	stepFLOPs = servertest.StepFLOPs
	rate      = servertest.Rate
	message   = servertest.Message
	transferS = servertest.TransferS
	idleW     = servertest.IdleW
	computeW  = servertest.ComputeW

	WaitForAll   = federation.WaitForAll
	Deadline     = protocols.Deadline
	Charged      = protocols.Charged
	First        = protocols.First
	Asynchronous = protocols.Asynchronous
	Compass      = protocols.Compass
	Keep, Drop   = federation.Keep, federation.Drop
)

type (
	coins   = servertest.Coins
	window  = servertest.Window
	turns   = servertest.Turns
	outcome = servertest.Outcome
	Setup   = federation.Setup
	Entry   = federation.Entry
)

var (
	sizes     = servertest.Rows
	world     = servertest.World
	start     = servertest.Start
	startWith = servertest.StartTiered
	near      = servertest.Near

	SelectorNames, LookupSelector = federation.SelectorNames, federation.LookupSelector
)

// answers returns the response times of two passes.
func answers() []float64 { return servertest.Responses(2) }

// same compares values bit by bit, so that NaN equals NaN and 0 is not -0.
func same(a, b outcome) string {
	return cmp.Diff(a, b, cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }))
}
