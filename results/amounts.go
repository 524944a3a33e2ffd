package results

import (
	"math"
	"slices"
	"strconv"

	"fedsim/internal/tools/columns"
)

// amountUnit is a unit of time, data or energy: its size in base units, and the amount from
// which on a single number is written in the next one.
type amountUnit struct {
	below, size float64
	name        string
}

// amountUnits are units from the smallest to the largest.
type amountUnits []amountUnit

var (
	timeUnits = amountUnits{
		{0.9995e-3, 1e-6, "µs"}, {0.9995, 1e-3, "ms"}, {99.95, 1, "s"}, {99.95 * 60, 60, "min"}, {48 * 3600, 3600, "h"},
		{math.Inf(1), 86400, "d"},
	}
	byteUnits   = prefixed("B")
	energyUnits = prefixed("J")
	massUnits   = amountUnits{{0.9995, 1e-3, "mg"}, {999.5, 1, "g"}, {999.5e3, 1e3, "kg"}, {math.Inf(1), 1e6, "t"}}
)

// prefixed returns a unit with its SI prefixes.
func prefixed(unit string) (list amountUnits) {
	size := 1.0
	for _, prefix := range []string{"", "k", "M", "G", "T", "P"} {
		list = append(list, amountUnit{999.5 * size, size, prefix + unit})
		size *= 1000
	}
	list[len(list)-1].below = math.Inf(1)
	return list
}

// of returns one unit for amounts that are compared: that of the largest, or a smaller one where
// the smallest amount would be below a hundredth. NaN and infinity are left out.
func (a amountUnits) of(amounts ...float64) amountUnit {
	least, most := math.Inf(1), 0.0
	for _, v := range amounts {
		if v = math.Abs(v); v > 0 && !math.IsInf(v, 0) {
			least, most = min(least, v), max(most, v)
		}
	}
	i := 0
	for most >= a[i].below {
		i++
	}
	for i > 0 && least < 0.01*a[i].size && most < 1e5*a[i-1].size {
		i--
	}
	return a[i]
}

// column returns the unit of a column of amounts: that in which the least of them is from 1 to 1000, unless the
// largest would have more than four digits. NaN, zero and infinity are left out.
func (a amountUnits) column(amounts ...float64) amountUnit {
	least, most := math.Inf(1), 0.0
	for _, v := range amounts {
		if v > 0 && !math.IsInf(v, 0) {
			least, most = min(least, v), max(most, v)
		}
	}
	if most == 0 {
		return a[max(0, slices.IndexFunc(a, func(u amountUnit) bool { return u.size == 1 }))]
	}
	i := 0
	for i+1 < len(a) && (least >= 999.5*a[i].size || most >= 1e4*a[i].size) {
		i++
	}
	return a[i]
}

// text formats an amount with three digits; NaN is "-".
func (u amountUnit) text(v float64) string {
	switch {
	case math.IsNaN(v):
		return none
	case math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', 3, 64) + " " + u.name
	default:
		return columns.Significant(v/u.size) + " " + u.name
	}
}

// Scaled formats a quantity with three digits and an SI prefix.
func Scaled(v float64, unit string) string { return prefixed(unit).of(v).text(v) }

// HumanTime formats seconds with three digits in a suitable unit: µs, ms, s, min, h or d.
func HumanTime(s float64) string {
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return strconv.FormatFloat(s, 'g', 3, 64) + " s"
	}
	return timeUnits.of(s).text(s)
}

// TimeText formats a virtual time with three digits: seconds as HumanTime does, relative
// units (Run.Relative) with the unit "ru", which RelativeNote explains.
func TimeText(t float64, relative bool) string {
	switch {
	case math.IsNaN(t):
		return none
	case relative:
		return strconv.FormatFloat(t, 'g', 3, 64) + " ru"
	default:
		return HumanTime(t)
	}
}

// EnergyText formats joules with three digits. Power times relative units of time is no energy:
// "-".
func EnergyText(joules float64, relative bool) string {
	if relative {
		return none
	}
	return Scaled(joules, "J")
}

// unitsOf returns the units of amounts in a base unit.
func unitsOf(unit string) amountUnits {
	switch unit {
	case "g":
		return massUnits
	case "s":
		return timeUnits
	default:
		return prefixed(unit)
	}
}

// AmountText formats an amount in a base unit with three digits.
func AmountText(v float64, unit string) string { return unitsOf(unit).of(v).text(v) }

// RelativeNote explains relative units in a caption; empty for seconds.
func RelativeNote(relative bool) string {
	if relative {
		return "; ru are relative units of time (federation.cost), not seconds, so there are no joules"
	}
	return ""
}
