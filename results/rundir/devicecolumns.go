package rundir

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"fedsim/results"
)

// devicesTable is the table of devices.parquet.
var devicesTable = rowTable[results.DeviceRow]{
	name: "devices", file: devicesParquet, absent: ErrNoDevices, remedy: "run.devices = true makes them", columns: deviceColumns,
}

var deviceColumns = []rowColumn[results.DeviceRow]{
	wholeOf("round", "rounds made so far, as in rounds.csv", func(r *results.DeviceRow) *int { return &r.Round }),
	realOf("time_s", "s", "virtual time at the end of the round; relative units where federation.cost is not physical", func(r *results.DeviceRow) *float64 { return &r.TimeS }),
	wholeOf("device", "its number, from 0", func(r *results.DeviceRow) *int { return &r.Device }),
	outcomeColumn,
	wholeOf("attempts", "requests that the server sent to the device in the round", func(r *results.DeviceRow) *int { return &r.Attempts }),
	wholeOf("responses", "that arrived in the round, or while the server still computed the previous round", func(r *results.DeviceRow) *int { return &r.Responses }),
	wholeOf("taken", "responses that the server used; participants in rounds.csv are their sum", func(r *results.DeviceRow) *int { return &r.Taken }),
	wholeOf("dropped", "counted as dropped in rounds.csv, even if a later attempt in the round responded", func(r *results.DeviceRow) *int { return &r.Dropped }),
	wholeOf("late", "counted as late in rounds.csv", func(r *results.DeviceRow) *int { return &r.Late }),
	realOf("response_s", "s", "arrival of its last response, since the end of the previous round; 0: while the server still computed that round; null: no response", func(r *results.DeviceRow) *float64 { return &r.ResponseS }),
	realOf("downlink_s", "s", "receiving, including radio wake-up; the six durations add up to the time since the end of the previous round", func(r *results.DeviceRow) *float64 { return &r.DownlinkS }),
	realOf("compute_s", "s", "computing", func(r *results.DeviceRow) *float64 { return &r.ComputeS }),
	realOf("uplink_s", "s", "sending, including radio wake-up", func(r *results.DeviceRow) *float64 { return &r.UplinkS }),
	realOf("wait_s", "s", "idle: not selected, done, or failed and not asked again", func(r *results.DeviceRow) *float64 { return &r.WaitS }),
	realOf("unavailable_s", "s", "not available, including interrupted work", func(r *results.DeviceRow) *float64 { return &r.UnavailableS }),
	realOf("depleted_s", "s", "with a depleted battery", func(r *results.DeviceRow) *float64 { return &r.DepletedS }),
	stepsColumn,
	realOf("theta", "", "accuracy of its local solve, 0 exact, 1 no progress; null: not measured, or a response to an earlier round", func(r *results.DeviceRow) *float64 { return &r.Theta }),
	realOf("flops", "FLOP", "done, one multiply or one add being 1; including lost work", func(r *results.DeviceRow) *float64 { return &r.FLOPs }),
	realOf("bytes_down", "B", "received; including lost and interrupted transfers", func(r *results.DeviceRow) *float64 { return &r.BytesDown }),
	realOf("bytes_up", "B", "sent; including lost and interrupted transfers", func(r *results.DeviceRow) *float64 { return &r.BytesUp }),
	realOf("energy_j", "J", "drawn from battery or mains", func(r *results.DeviceRow) *float64 { return &r.EnergyJ }),
}

var outcomeColumn = rowColumn[results.DeviceRow]{
	column{name: "outcome", doc: "how the round ended for the device: " + listed(results.Outcomes)},
	func(r *results.DeviceRow) parquet.Value {
		if i := slices.Index(results.Outcomes, r.Outcome); i >= 0 {
			return outcomeValues[i] // made once
		}
		return textValue(string(r.Outcome))
	},
	func(r *results.DeviceRow, v parquet.Value) error {
		i := slices.Index(results.Outcomes, results.Outcome(v.ByteArray()))
		if i < 0 {
			return fmt.Errorf("must be one of %s", listed(results.Outcomes))
		}
		r.Outcome = results.Outcomes[i]
		return nil
	},
}

// outcomeValues are the parquet values of Outcomes.
var outcomeValues = func() (values []parquet.Value) {
	for _, o := range results.Outcomes {
		values = append(values, textValue(string(o)))
	}
	return values
}()

var stepsColumn = rowColumn[results.DeviceRow]{
	column{name: "steps", kind: wholeCell, doc: "coordinate steps or rows behind its responses"},
	func(r *results.DeviceRow) parquet.Value { return parquet.Int64Value(r.Steps) },
	func(r *results.DeviceRow, v parquet.Value) error { return setCount(&r.Steps, v) },
}

func listed(outcomes []results.Outcome) string {
	all := ""
	for i, o := range outcomes {
		if i > 0 {
			all += ", "
		}
		all += string(o)
	}
	return all
}
