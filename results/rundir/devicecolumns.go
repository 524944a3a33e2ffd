package rundir

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"fedsim/results"
)

// deviceColumn is a figure of a device's row as a column.
type deviceColumn struct {
	column
	get func(*results.DeviceRow) parquet.Value
	set func(*results.DeviceRow, parquet.Value) error
}

// deviceColumns are the columns of devices.parquet behind those that say which run
// a row belongs to.
var deviceColumns = []deviceColumn{
	wholeOf("round", "rounds made so far, as in rounds.csv", func(r *results.DeviceRow) *int { return &r.Round }),
	realOf("time_s", "s", "virtual time at the end of the round; relative units where federation.cost is not physical", func(r *results.DeviceRow) *float64 { return &r.TimeS }),
	wholeOf("device", "its number, from 0", func(r *results.DeviceRow) *int { return &r.Device }),
	outcomeColumn,
	wholeOf("attempts", "times the server asked the device in the round", func(r *results.DeviceRow) *int { return &r.Attempts }),
	wholeOf("responses", "that came in the round, or while the server still computed for the round before", func(r *results.DeviceRow) *int { return &r.Responses }),
	wholeOf("taken", "answers that the server took; participants in rounds.csv are their sum", func(r *results.DeviceRow) *int { return &r.Taken }),
	wholeOf("dropped", "counted as dropped in rounds.csv, though it may have answered when it was asked again", func(r *results.DeviceRow) *int { return &r.Dropped }),
	wholeOf("late", "counted as late in rounds.csv", func(r *results.DeviceRow) *int { return &r.Late }),
	realOf("response_s", "s", "when its last answer came, since the round before ended; 0: it came while the server still computed for that round; null: none came", func(r *results.DeviceRow) *float64 { return &r.ResponseS }),
	realOf("downlink_s", "s", "receiving, waking of the radio included; the six times add up to the time since the round before ended", func(r *results.DeviceRow) *float64 { return &r.DownlinkS }),
	realOf("compute_s", "s", "computing", func(r *results.DeviceRow) *float64 { return &r.ComputeS }),
	realOf("uplink_s", "s", "sending, waking of the radio included", func(r *results.DeviceRow) *float64 { return &r.UplinkS }),
	realOf("wait_s", "s", "with nothing to do: not asked, answered already, or lost and not asked again", func(r *results.DeviceRow) *float64 { return &r.WaitS }),
	realOf("unavailable_s", "s", "out of reach, interrupted work included", func(r *results.DeviceRow) *float64 { return &r.UnavailableS }),
	realOf("depleted_s", "s", "with an empty battery", func(r *results.DeviceRow) *float64 { return &r.DepletedS }),
	stepsColumn,
	realOf("theta", "", "accuracy of its local solve, 0 exact, 1 no progress; null: not measured, or an answer to an earlier round", func(r *results.DeviceRow) *float64 { return &r.Theta }),
	realOf("flops", "FLOP", "done, one multiply or one add being 1; lost work included", func(r *results.DeviceRow) *float64 { return &r.FLOPs }),
	realOf("bytes_down", "B", "received; lost and cut transfers included", func(r *results.DeviceRow) *float64 { return &r.BytesDown }),
	realOf("bytes_up", "B", "sent; lost and cut transfers included", func(r *results.DeviceRow) *float64 { return &r.BytesUp }),
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

// outcomeValues are the values of Outcomes.
var outcomeValues = func() (values []parquet.Value) {
	for _, o := range results.Outcomes {
		values = append(values, textValue(string(o)))
	}
	return values
}()

var stepsColumn = deviceColumn{
	column{name: "steps", kind: wholeCell, doc: "coordinate steps or rows behind its answers"},
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

// devicesColumns are the columns of devices.parquet. Its rows name their run; what
// the scenario swept for it is in runs.csv.
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
