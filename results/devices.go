package results

import (
	"math"
	"strings"
)

// DeviceRow records the work of one device in one round of a run. The seven durations,
// DownlinkS to DepletedS, add up to the time since the end of the previous round: work
// that spans rounds counts in each of them. Bytes and FLOPs count in the round in which
// the transfer or computation ends, as in [Round].
type DeviceRow struct {
	Round        int
	TimeS        float64 // virtual time at the end of the round, seconds
	Device       int
	Outcome      Outcome
	Attempts     int     // requests that the server sent to the device
	Responses    int     // that arrived, at least Taken; more than one only for protocol asynchronous
	Taken        int     // responses that the server used; Round.Participants is the sum over devices
	Dropped      int     // Round.Dropped is the sum over devices
	Late         int     // Round.Late is the sum over devices
	Staleness    float64 // mean of those of Taken, as Round.Staleness; NaN: none
	ResponseS    float64 // arrival of its last response; 0: while the server computed the previous round; NaN: none
	DownlinkS    float64 // including radio wake-up
	ComputeS     float64
	OverheadS    float64 // the part of ComputeS that is not FLOPs at the device's rate
	ThrottledS   float64 // the part of ComputeS at less than the usual speed, by heat or a model
	UplinkS      float64 // including radio wake-up
	PollS        float64 // waiting for a poll, within an attempt
	WaitS        float64 // idle: not selected, done, or failed
	UnavailableS float64 // not available
	DepletedS    float64 // with a depleted battery
	Steps        int64   // coordinate steps or rows behind its responses
	Theta        float64 // NaN: not measured
	FLOPs        float64
	BytesDown    float64
	BytesUp      float64
	EnergyJ      float64
	DownSharedS  float64 // of downlinks that ended, how much longer than alone on shared links they took
	UpSharedS    float64 // likewise, of uplinks
}

// Outcome is the result of a round for a device.
type Outcome string

const (
	OutcomeAccepted Outcome = "accepted" // the server used its response
	// its response arrived and was not used: too stale, or too few responses
	OutcomeRefused     Outcome = "refused"
	OutcomeUnderWay    Outcome = "under-way"    // it is still working
	OutcomeDropped     Outcome = "dropped"      // it dropped out (faults)
	OutcomeMessageLost Outcome = "message-lost" // its link lost a message
	OutcomeTimedOut    Outcome = "timed-out"    // the last connection of a transfer was given up
	OutcomeUnavailable Outcome = "unavailable"  // it became unavailable, or was when it was selected
	OutcomeDepleted    Outcome = "depleted"     // its battery was depleted
	OutcomeLowBattery  Outcome = "low-battery"  // its battery was too low to start
	OutcomeLate        Outcome = "late"         // the round ended before its response arrived
	OutcomeNoTime      Outcome = "no-time"      // the clock cycle left no time for any work
	OutcomeNotSelected Outcome = "not-selected" // the server did not select it
)

// Outcomes lists every Outcome.
var Outcomes = []Outcome{
	OutcomeAccepted, OutcomeRefused, OutcomeUnderWay, OutcomeDropped, OutcomeMessageLost, OutcomeUnavailable,
	OutcomeDepleted, OutcomeLowBattery, OutcomeLate, OutcomeNoTime, OutcomeTimedOut, OutcomeNotSelected,
}

// DeviceColumns are the columns of devices.parquet after those that identify the run.
var DeviceColumns = []Column[DeviceRow]{
	{Kind: KeyColumn, Name: "round", Doc: "rounds made so far, as in rounds.parquet",
		Field: func(r *DeviceRow) any { return &r.Round }},
	{Kind: TimeColumn, Name: "time_s", Unit: "s",
		Doc:   "virtual time at the end of the round; relative units where federation.cost is not physical",
		Field: func(r *DeviceRow) any { return &r.TimeS }},
	{Kind: KeyColumn, Name: "device", Doc: "its number, from 0", Field: func(r *DeviceRow) any { return &r.Device }},
	{Kind: StateColumn, Name: "outcome", Doc: "how the round ended for the device: " + strings.Join(outcomeTexts, ", "),
		Values: outcomeTexts, Field: func(r *DeviceRow) any { return &r.Outcome }},
	{Kind: CostColumn, Name: "attempts", Doc: "requests that the server sent to the device in the round",
		Field: func(r *DeviceRow) any { return &r.Attempts }},
	{Kind: CostColumn, Name: "responses", Doc: "responses that arrived in the round, or while the server still " +
		"computed the previous round, which the round uses; more than 1 only for protocol asynchronous",
		Field: func(r *DeviceRow) any { return &r.Responses }},
	{Kind: CostColumn, Name: "taken",
		Doc:   "responses that the server used; participants in rounds.parquet are their sum",
		Field: func(r *DeviceRow) any { return &r.Taken }},
	{Kind: CostColumn, Name: "dropped", Doc: "1 (protocol asynchronous: the number) if counted as dropped in " +
		"rounds.parquet, even if a later attempt in the round responded",
		Field: func(r *DeviceRow) any { return &r.Dropped }},
	{Kind: CostColumn, Name: "late", Doc: "1 (protocol asynchronous: the number) if counted as late in rounds.parquet",
		Field: func(r *DeviceRow) any { return &r.Late }},
	{Kind: StateColumn, Name: "staleness",
		Doc:   "mean over its updates that the server used, as in rounds.parquet; null: none",
		Field: func(r *DeviceRow) any { return &r.Staleness }},
	{Kind: StateColumn, Name: "response_s", Unit: "s",
		Doc: "arrival of its last response, since the end of the previous round; 0: while the server still computed " +
			"that round; null: no response", Field: func(r *DeviceRow) any { return &r.ResponseS }},
	{Kind: CostColumn, Name: "downlink_s", Unit: "s",
		Doc: "receiving, including radio wake-up; the seven durations add up to the time since the end of the " +
			"previous round", Field: func(r *DeviceRow) any { return &r.DownlinkS }},
	{Kind: CostColumn, Name: "compute_s", Unit: "s", Doc: "computing",
		Field: func(r *DeviceRow) any { return &r.ComputeS }},
	{Kind: CostColumn, Name: "overhead_s", Unit: "s", Doc: "the part of compute_s that is not FLOPs at the rate of " +
		"the device: overheads of tasks, steps and memory traffic, launches and cold starts, " +
		"with its share of the jitter (docs/time.md)", Field: func(r *DeviceRow) any { return &r.OverheadS }},
	{Kind: CostColumn, Name: "throttled_s", Unit: "s", Doc: "the part of compute_s at less than the usual speed, " +
		"since the device is hot, or a device model says so (docs/time.md#heat)",
		Field: func(r *DeviceRow) any { return &r.ThrottledS }},
	{Kind: CostColumn, Name: "uplink_s", Unit: "s", Doc: "sending, including radio wake-up",
		Field: func(r *DeviceRow) any { return &r.UplinkS }},
	{Kind: CostColumn, Name: "poll_s", Unit: "s", Doc: "waiting within an attempt: the server's message for the " +
		"device's poll, or its launch (overhead.client_poll_s, overhead.launch_poll_s)",
		Field: func(r *DeviceRow) any { return &r.PollS }},
	{Kind: CostColumn, Name: "wait_s", Unit: "s", Doc: "idle: not selected, done, or failed and not asked again",
		Field: func(r *DeviceRow) any { return &r.WaitS }},
	{Kind: CostColumn, Name: "unavailable_s", Unit: "s", Doc: "not available, including interrupted work",
		Field: func(r *DeviceRow) any { return &r.UnavailableS }},
	{Kind: CostColumn, Name: "depleted_s", Unit: "s", Doc: "with a depleted battery",
		Field: func(r *DeviceRow) any { return &r.DepletedS }},
	{Kind: CostColumn, Name: "steps", Doc: "coordinate steps or rows behind its responses, in every round of its hub",
		Field: func(r *DeviceRow) any { return &r.Steps }},
	{Kind: StateColumn, Name: "theta", Doc: "accuracy of its local solve in a measured round: 0 exact, " +
		"1 no progress, or no response that the server uses; null: not measured, or a response to an earlier round",
		Field: func(r *DeviceRow) any { return &r.Theta }},
	{Kind: CostColumn, Name: "flops", Unit: "FLOP", Doc: "done, one multiply or one add being 1; including lost work",
		Field: func(r *DeviceRow) any { return &r.FLOPs }},
	{Kind: CostColumn, Name: "bytes_down", Unit: "B",
		Doc: "received on its own link, including lost and interrupted transfers; the latency of a transfer moves no " +
			"bytes", Field: func(r *DeviceRow) any { return &r.BytesDown }},
	{Kind: CostColumn, Name: "bytes_up", Unit: "B",
		Doc:   "sent on its own link, including lost and interrupted transfers",
		Field: func(r *DeviceRow) any { return &r.BytesUp }},
	{Kind: CostColumn, Name: "energy_j", Unit: "J", Doc: "drawn from battery or mains",
		Field: func(r *DeviceRow) any { return &r.EnergyJ }},
	{Kind: CostColumn, Name: "down_shared_s", Unit: "s", Doc: "how much longer downlinks that ended in the round " +
		"took than alone on the links of network.shared, at the rates that the device's own link had",
		Field: func(r *DeviceRow) any { return &r.DownSharedS }},
	{Kind: CostColumn, Name: "up_shared_s", Unit: "s", Doc: "likewise, uplinks",
		Field: func(r *DeviceRow) any { return &r.UpSharedS }},
}

// outcomeTexts are Outcomes as texts.
var outcomeTexts = func() (texts []string) {
	for _, o := range Outcomes {
		texts = append(texts, string(o))
	}
	return texts
}()

// NewDeviceRow returns the row of a device that was not selected.
func NewDeviceRow(device int) DeviceRow {
	return DeviceRow{Device: device, Outcome: OutcomeNotSelected, Staleness: math.NaN(), ResponseS: math.NaN(),
		Theta: math.NaN()}
}
