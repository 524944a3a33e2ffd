package calibration

import (
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Value is an estimate.
type Value struct {
	Value float64 `json:"value"` // NaN: not known
	Low   float64 `json:"low"`   // lower end of the 95 % confidence interval; NaN: there is none
	High  float64 `json:"high"`
	Unit  string  `json:"unit"`
	Why   string  `json:"why"` // why the value is not known; empty: it is
}

// UnmarshalJSON reads an estimate. A number that is null is NaN.
func (v *Value) UnmarshalJSON(text []byte) error {
	type plain Value                         // without this method
	read := plain(known(math.NaN(), "", "")) // null changes no number
	err := json.Unmarshal(text, &read)
	*v = Value(read)
	return err
}

// Known reports whether the log identifies the value.
func (v *Value) Known() bool { return !math.IsNaN(v.Value) }

// Or returns the value, or another if it is not known.
func (v *Value) Or(other float64) float64 {
	if v.Known() {
		return v.Value
	}
	return other
}

// known returns an estimate without an interval; a value that is not a number needs a reason.
func known(x float64, unit, why string) Value {
	v := Value{Value: x, Low: math.NaN(), High: math.NaN(), Unit: unit}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		v.Value, v.Why = math.NaN(), why
	}
	return v
}

// unknown returns a value that the log does not identify.
func unknown(unit, why string) Value { return known(math.NaN(), unit, why) }

// proportion returns the estimate of a probability by events in trials, with Wilson's interval
// (JASA 22, 1927).
func proportion(events, trials int) Value {
	if trials == 0 {
		return unknown("", "there are no attempts")
	}
	n, p, z := float64(trials), float64(events)/float64(trials), distuv.UnitNormal.Quantile(0.975)
	center := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	v := known(p, "", "")
	v.Low, v.High = max(0, center-half), min(1, center+half)
	return v
}
