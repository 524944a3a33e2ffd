package results

import "math"

// DeviceRow records the work of one device in one round of a run. The six durations,
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
	ResponseS    float64 // arrival of its last response; 0: while the server computed the previous round; NaN: none
	DownlinkS    float64 // including radio wake-up
	ComputeS     float64
	UplinkS      float64 // including radio wake-up
	WaitS        float64 // idle: not selected, done, or failed
	UnavailableS float64 // not available
	DepletedS    float64 // with a depleted battery
	Steps        int64   // coordinate steps or rows behind its responses
	Theta        float64 // NaN: not measured
	FLOPs        float64
	BytesDown    float64
	BytesUp      float64
	EnergyJ      float64
}

// Outcome is the result of a round for a device.
type Outcome string

const (
	OutcomeAccepted    Outcome = "accepted"     // the server used its response
	OutcomeRefused     Outcome = "refused"      // its response arrived and was not used: too stale, or too few responses
	OutcomeUnderWay    Outcome = "under-way"    // it is still working
	OutcomeDropped     Outcome = "dropped"      // it dropped out (faults)
	OutcomeMessageLost Outcome = "message-lost" // its link lost a message
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
	OutcomeDepleted, OutcomeLowBattery, OutcomeLate, OutcomeNoTime, OutcomeNotSelected,
}

// NewDeviceRow returns the row of a device that was not selected.
func NewDeviceRow(device int) DeviceRow {
	return DeviceRow{Device: device, Outcome: OutcomeNotSelected, ResponseS: math.NaN(), Theta: math.NaN()}
}
