package rundir

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"fedsim/results"
)

// deviceColumn is a column of devices.parquet.
type deviceColumn struct {
	column
	get func(*results.DeviceRow) parquet.Value
	set func(*results.DeviceRow, parquet.Value) error
}

// deviceColumns are the columns of devices.parquet after those that identify the run.
var deviceColumns = []deviceColumn{
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

var outcomeColumn = deviceColumn{
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

var stepsColumn = deviceColumn{
	column{name: "steps", kind: wholeCell, doc: "coordinate steps or rows behind its responses"},
	func(r *results.DeviceRow) parquet.Value { return parquet.Int64Value(r.Steps) },
	func(r *results.DeviceRow, v parquet.Value) error { return setCount(&r.Steps, v) },
}

func wholeOf(name, doc string, field func(*results.DeviceRow) *int) deviceColumn {
	return deviceColumn{
		column{name: name, kind: wholeCell, doc: doc},
		func(r *results.DeviceRow) parquet.Value { return parquet.Int64Value(int64(*field(r))) },
		func(r *results.DeviceRow, v parquet.Value) error { return setCount(field(r), v) },
	}
}

func realOf(name, unit, doc string, field func(*results.DeviceRow) *float64) deviceColumn {
	return deviceColumn{
		column{name: name, kind: realCell, unit: unit, doc: doc},
		func(r *results.DeviceRow) parquet.Value { return realValue(*field(r)) },
		func(r *results.DeviceRow, v parquet.Value) error {
			*field(r) = math.NaN()
			if !v.IsNull() {
				*field(r) = v.Double()
			}
			return nil
		},
	}
}

// setCount sets a count, which cannot be null.
func setCount[T int | int64](to *T, v parquet.Value) error {
	if v.IsNull() || v.Int64() < 0 || int64(T(v.Int64())) != v.Int64() {
		return fmt.Errorf("must be a count")
	}
	*to = T(v.Int64())
	return nil
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

// devicesColumns returns the columns of devices.parquet. Its rows name their run; the
// settings of a run are in runs.csv.
func devicesColumns() []column {
	columns := identityColumns(nil)
	for _, c := range deviceColumns {
		columns = append(columns, c.column)
	}
	return columns
}

// cell returns a value as a cell of csv.
func (c *column) cell(v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case c.kind == wholeCell:
		return strconv.FormatInt(v.Int64(), 10)
	case c.kind == seedCell:
		return strconv.FormatUint(v.Uint64(), 10)
	case c.kind == realCell && c.unit == "s":
		return formatDecimal(v.Double())
	case c.kind == realCell:
		return formatNumber(v.Double())
	default:
		return string(v.ByteArray())
	}
}
