package attemptlog

import (
	"math"
	"strings"
)

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of attempts.
const (
	Taken  Outcome = "taken"  // the server used the response
	Late   Outcome = "late"   // the response came too late to be used
	Failed Outcome = "failed" // the client reported an error
	Lost   Outcome = "lost"   // no response arrived
)

// outcomes lists all outcomes.
var outcomes = []string{string(Taken), string(Late), string(Failed), string(Lost)}

// Train is the kind of attempts that train, the default.
const Train = "train"

// Attempt is one attempt of a client, a row of a log. A number that the log does not have is NaN.
// Durations and instants are in seconds.
type Attempt struct {
	File string
	Line int // of the file, or the row of a parquet file, from 1

	Round               int
	Client, Class, Kind string
	BytesDown, BytesUp  float64 // of the two messages, without headers of the network

	Examples, Epochs, Batch float64
	Steps                   float64 // mini-batch steps
	FLOPs                   float64
	TrafficBytes            float64 // bytes that the local work reads and writes

	Sent, ReplyFirst, Seen float64 // server's clock; Seen is NaN without a response

	Idle, Receive, Wait, Compute, Reply, CPU float64 // client's clock

	Outcome          Outcome
	DownMbps, UpMbps float64 // nominal rates, in 10^6 bit/s
	GFLOPS           float64 // nominal speed, in 10^9 FLOP/s
	EnergyJ          float64
}

// absent is an attempt without numbers.
var absent = func() Attempt {
	var a Attempt
	for _, c := range Columns {
		if x, ok := c.Field(&a).(*float64); ok {
			*x = math.NaN()
		}
	}
	return a
}()

// Responded reports whether a response arrived at the server.
func (a *Attempt) Responded() bool { return !math.IsNaN(a.Seen) }

// LocalFLOPs returns the operations of the local work. In a log without them, a row of an epoch
// counts as one; it is 0 if that is not known either.
func (a *Attempt) LocalFLOPs() float64 {
	for _, flops := range []float64{a.FLOPs, a.Examples * a.Epochs} {
		if !math.IsNaN(flops) {
			return flops
		}
	}
	return 0
}

// Column describes a column of a log.
type Column struct {
	Name     string
	Unit     string // empty: none
	Doc      string
	Required bool
	Signed   bool // numbers may be negative
	// Field returns a pointer to the value of an attempt: a *float64, *int, *string or *Outcome;
	// nil for the name of the run, which is not a field of an attempt.
	Field func(*Attempt) any
}

// runColumn is the name of the column with the name of the run.
const runColumn = "run"

// Columns lists the columns of a log. Their order in a file is free.
var Columns = []Column{
	{Name: runColumn, Doc: "name of the run; empty: the name of the file without its ending",
		Field: func(*Attempt) any { return nil }},
	{Name: "round", Doc: "number of the round, a whole number from 0", Required: true,
		Field: func(a *Attempt) any { return &a.Round }},
	{Name: "client", Doc: "name of the client", Required: true, Field: func(a *Attempt) any { return &a.Client }},
	{Name: "class", Doc: "class of the client, such as a kind of phone; empty: all clients are of one class",
		Field: func(a *Attempt) any { return &a.Class }},
	{Name: "kind", Doc: "what the client was asked to do: train (the default), evaluate or another name; " +
		"only rows of train are fitted", Field: func(a *Attempt) any { return &a.Kind }},
	{Name: "bytes_down", Unit: "B", Doc: "message to the client, without headers of the network", Required: true,
		Field: func(a *Attempt) any { return &a.BytesDown }},
	{Name: "bytes_up", Unit: "B", Doc: "response of the client, without headers of the network", Required: true,
		Field: func(a *Attempt) any { return &a.BytesUp }},
	{Name: "examples", Doc: "training rows of the client", Field: func(a *Attempt) any { return &a.Examples }},
	{Name: "epochs", Doc: "passes over the rows", Field: func(a *Attempt) any { return &a.Epochs }},
	{Name: "batch", Doc: "rows of a mini-batch", Field: func(a *Attempt) any { return &a.Batch }},
	{Name: "steps", Doc: "mini-batch steps; empty: epochs times examples/batch, rounded up",
		Field: func(a *Attempt) any { return &a.Steps }},
	{Name: "flops", Unit: "FLOP",
		Doc:   "floating-point operations of the local work; empty in all rows: a row of an epoch counts as one",
		Field: func(a *Attempt) any { return &a.FLOPs }},
	{Name: "traffic_bytes", Unit: "B", Doc: "bytes that the local work reads and writes in memory",
		Field: func(a *Attempt) any { return &a.TrafficBytes }},
	{Name: "sent_s", Unit: "s",
		Doc: "server's clock: when it began to send the message; any origin that the run shares", Required: true,
		Signed: true, Field: func(a *Attempt) any { return &a.Sent }},
	{Name: "reply_first_s", Unit: "s", Doc: "server's clock: first byte of the response", Signed: true,
		Field: func(a *Attempt) any { return &a.ReplyFirst }},
	{Name: "seen_s", Unit: "s",
		Doc: "server's clock: the response is complete and the server knows it; empty: there was none", Signed: true,
		Field: func(a *Attempt) any { return &a.Seen }},
	{Name: "idle_s", Unit: "s",
		Doc: "client's clock: from the end of its previous response, or from its start, to the first byte of this " +
			"message", Field: func(a *Attempt) any { return &a.Idle }},
	{Name: "receive_s", Unit: "s", Doc: "client's clock: from the first to the last byte of the message",
		Field: func(a *Attempt) any { return &a.Receive }},
	{Name: "wait_s", Unit: "s", Doc: "client's clock: from the last byte of the message to the start of training: " +
		"a queue, or the launch of a process", Field: func(a *Attempt) any { return &a.Wait }},
	{Name: "compute_s", Unit: "s", Doc: "client's clock: training", Field: func(a *Attempt) any { return &a.Compute }},
	{Name: "reply_s", Unit: "s", Doc: "client's clock: from the end of training to the end of sending",
		Field: func(a *Attempt) any { return &a.Reply }},
	{Name: "cpu_s", Unit: "s", Doc: "processor time of the training", Field: func(a *Attempt) any { return &a.CPU }},
	{Name: "outcome", Doc: "how the attempt ended: " + strings.Join(outcomes, ", ") +
		"; empty: taken if seen_s is there, else lost", Field: func(a *Attempt) any { return &a.Outcome }},
	{Name: "down_mbps", Unit: "10^6 bit/s",
		Doc:   "nominal rate of the link to the client, as a user without measurements would enter it",
		Field: func(a *Attempt) any { return &a.DownMbps }},
	{Name: "up_mbps", Unit: "10^6 bit/s", Doc: "nominal rate of the link from the client",
		Field: func(a *Attempt) any { return &a.UpMbps }},
	{Name: "gflops", Unit: "10^9 FLOP/s", Doc: "nominal speed of the client",
		Field: func(a *Attempt) any { return &a.GFLOPS }},
	{Name: "energy_j", Unit: "J", Doc: "measured energy of the attempt",
		Field: func(a *Attempt) any { return &a.EnergyJ }},
}

// complete sets the values that follow from others.
func (a *Attempt) complete() {
	if a.Kind == "" {
		a.Kind = Train
	}
	if math.IsNaN(a.Steps) && a.Batch > 0 {
		a.Steps = a.Epochs * math.Ceil(a.Examples/a.Batch)
	}
	if a.Outcome == "" {
		a.Outcome = Taken
		if !a.Responded() {
			a.Outcome = Lost
		}
	}
}
