package results

import "math"

// DeviceRow is what one device did in one round of a run. Its seconds are those
// since the round before ended (or the run began) and add up to them: a device that
// is still at work counts in each round the part that lies in it. Bytes and FLOPs
// count in the round in which their stretch of work ends, as in [Round].
type DeviceRow struct {
	Round        int
	TimeS        float64 // virtual time at the end of the round, seconds
	Device       int
	Outcome      Outcome
	Attempts     int     // messages that the server has sent it to ask for an answer
	Responses    int     // that came, at least as many as Taken; more than one only without rounds, as Taken, Dropped and Late
	Taken        int     // answers that the server took: Round.Participants over all devices
	Dropped      int     // Round.Dropped over all devices
	Late         int     // Round.Late over all devices
	ResponseS    float64 // when its last answer came; 0: while the server computed for the round before; NaN: none did
	DownlinkS    float64 // waking of the radio included
	ComputeS     float64
	UplinkS      float64 // waking of the radio included
	WaitS        float64 // with nothing to do: not asked, or answered, or lost
	UnavailableS float64 // out of reach
	DepletedS    float64 // with an empty battery
	Steps        int64   // coordinate steps or rows behind its answers
	Theta        float64 // NaN: not measured
	FLOPs        float64
	BytesDown    float64
	BytesUp      float64
	EnergyJ      float64
}

// Outcome is how a round ended for a device.
type Outcome string

const (
	OutcomeAccepted    Outcome = "accepted"     // the server took its answer
	OutcomeRefused     Outcome = "refused"      // its answer came and was of no use: too stale, or too few came
	OutcomeUnderWay    Outcome = "under-way"    // it still works on an answer
	OutcomeDropped     Outcome = "dropped"      // it dropped (faults)
	OutcomeMessageLost Outcome = "message-lost" // a message was lost on its link
	OutcomeUnavailable Outcome = "unavailable"  // it went away, or was away when it was to be asked
	OutcomeDepleted    Outcome = "depleted"     // its battery ran empty, or was when it was to be asked
	OutcomeLowBattery  Outcome = "low-battery"  // its battery was too low for new work
	OutcomeLate        Outcome = "late"         // the round ended before its answer came
	OutcomeNoTime      Outcome = "no-time"      // nothing could be done in what the clock cycle left
	OutcomeNotSelected Outcome = "not-selected" // the server did not want its answer
)

// Outcomes are all of them.
var Outcomes = []Outcome{
	OutcomeAccepted, OutcomeRefused, OutcomeUnderWay, OutcomeDropped, OutcomeMessageLost, OutcomeUnavailable,
	OutcomeDepleted, OutcomeLowBattery, OutcomeLate, OutcomeNoTime, OutcomeNotSelected,
}

// NewDeviceRow returns the row of a device that nothing has happened to.
func NewDeviceRow(device int) DeviceRow {
	return DeviceRow{Device: device, Outcome: OutcomeNotSelected, ResponseS: math.NaN(), Theta: math.NaN()}
}
