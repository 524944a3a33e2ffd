package plots

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// ticks are the marks of an axis, in axis space. Those without a label are minor.
type ticks []plot.Tick

// Ticks returns the marks whatever the limits; it makes ticks a plot.Ticker.
func (t ticks) Ticks(min, max float64) []plot.Tick { return t }

// unlabelled returns the same marks for an axis that shares the labels of its
// neighbour. A blank label keeps a major mark major.
func (t ticks) unlabelled() ticks {
	bare := append(ticks(nil), t...)
	for i := range bare {
		if bare[i].Label != "" {
			bare[i].Label = " "
		}
	}
	return bare
}

// room returns the least distance between two labels on an axis of a length.
func (t ticks) room(r interval, length vg.Length) vg.Length {
	var places []float64
	for _, tick := range t {
		if tick.Label != "" {
			places = append(places, tick.Value)
		}
	}
	sort.Float64s(places)
	least := r.length()
	for i := 1; i < len(places); i++ {
		least = math.Min(least, places[i]-places[i-1])
	}
	return vg.Length(least/r.length()) * length
}

// widest returns the width of the widest label.
func (t ticks) widest(sty text.Style) (width vg.Length) {
	for _, tick := range t {
		width = max(width, sty.Width(tick.Label))
	}
	return width
}

// slack widens the limits for marks that lie on them.
const slack = 1e-9

func (r interval) holds(place float64) bool {
	margin := slack * r.length()
	return place >= r.min-margin && place <= r.max+margin
}

// linearTicks marks multiples of 1, 2 or 5 times a power of ten, about most of
// them but not fewer than two, and minor ones in between. Values are counted
// in units.
func linearTicks(r interval, u unit, most int) ticks {
	lo, hi := r.min/u.size, r.max/u.size
	step, minor := u.niceStep((hi - lo) / float64(most))
	var t ticks
	for k := math.Ceil(lo/step - slack); k*step <= hi+slack*(hi-lo); k++ {
		t = append(t, plot.Tick{Value: k * step * u.size, Label: numberText(k*step, step)})
	}
	if len(t) < 2 {
		return linearTicks(r, u, most+1)
	}
	for k := math.Ceil(lo/minor - slack); k*minor <= hi+slack*(hi-lo); k++ {
		if on := k * minor / step; math.Abs(on-math.Round(on)) > 0.01 {
			t = append(t, plot.Tick{Value: k * minor * u.size})
		}
	}
	return t
}

// clockSteps are the steps between the marks of an axis in hours or minutes, and those
// between minor ones: an axis of a day has marks at 0, 6, 12, 18 and 24.
var clockSteps = map[string][]struct{ step, minor float64 }{
	"h":   {{1, 0.25}, {2, 0.5}, {3, 1}, {6, 1}, {12, 3}, {24, 6}},
	"min": {{1, 0.25}, {2, 0.5}, {5, 1}, {10, 2}, {15, 5}, {30, 10}, {60, 15}},
}

// niceStep returns the smallest step that is at least the wanted one, and the step of
// minor marks that goes with it: 1, 2 or 5 times a power of ten, or one of the clock's.
func (u unit) niceStep(want float64) (step, minor float64) {
	for _, s := range clockSteps[u.name] {
		if want > 0.5 && s.step >= want*(1-slack) {
			return s.step, s.minor
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(want)))
	for _, s := range []struct{ step, minor float64 }{{1, 0.2}, {2, 0.5}, {5, 1}} {
		if s.step*power >= want*(1-slack) {
			return s.step * power, s.minor * power
		}
	}
	return 10 * power, 2 * power
}

// hasDecades reports whether two powers of ten lie on a logarithmic axis, so that it
// is marked with them.
func hasDecades(r interval) bool {
	return math.Floor(r.max+slack)-math.Ceil(r.min-slack) >= 1
}

// logTicks marks decades, at most most of them with a label, or 1, 2 and 5
// times decades where the axis holds less than two, or multiples of a step
// where it holds hardly any of those.
func logTicks(r interval, u unit, most int, powers bool) ticks {
	shift := math.Log10(u.size)
	in := interval{r.min - shift, r.max - shift}
	label := func(mantissa, decade int) string { return decadeText(mantissa, decade, powers) }
	first, last := int(math.Ceil(in.min-slack)), int(math.Floor(in.max+slack))
	var t ticks
	if hasDecades(in) {
		stride, anchor := (last-first)/most+1, 0
		if first+mod(-first, stride)+stride > last {
			anchor = last // multiples of the stride would be less than two labels
		}
		for d := first - 1; d <= last; d++ {
			for k := 1; k <= 9; k++ {
				place := float64(d) + math.Log10(float64(k))
				if !in.holds(place) || k > 1 && stride > 1 {
					continue
				}
				tick := plot.Tick{Value: place + shift}
				if k == 1 && mod(d-anchor, stride) == 0 {
					tick.Label = label(1, d)
				}
				t = append(t, tick)
			}
		}
		return t
	}
	labelled := 0
	for d := first - 1; d <= last; d++ {
		for k := 1; k <= 9; k++ {
			place := float64(d) + math.Log10(float64(k))
			if !in.holds(place) {
				continue
			}
			tick := plot.Tick{Value: place + shift}
			if k == 1 || k == 2 || k == 5 {
				tick.Label = label(k, d)
				labelled++
			}
			t = append(t, tick)
		}
	}
	if labelled >= 2 {
		return t
	}
	t = linearTicks(interval{math.Pow(10, in.min), math.Pow(10, in.max)}, unit{size: 1}, most)
	for i := range t {
		t[i].Value = math.Log10(t[i].Value) + shift
	}
	return t
}

// mod is the remainder that is never negative.
func mod(a, b int) int { return ((a % b) + b) % b }

// decadeText writes mantissa times ten to the decade; "^" begins an exponent. Without
// powers, numbers are written out.
func decadeText(mantissa, decade int, powers bool) string {
	if !powers {
		return numberText(float64(mantissa)*math.Pow10(decade), math.Pow10(decade))
	}
	text := "10^" + minus(strconv.Itoa(decade))
	if mantissa != 1 {
		text = strconv.Itoa(mantissa) + "·" + text
	}
	return text
}

// numberText writes a multiple of a step with the decimals that the step needs
// and groups of thousands; very large and very small ones, when few digits are
// enough, with a power of ten.
func numberText(v, step float64) string {
	last := int(math.Floor(math.Log10(step) + slack)) // power of ten of the last digit
	decimals := max(0, -last)
	if v == 0 {
		if decimals > 5 {
			decimals = 0
		}
	} else if first := int(math.Floor(math.Log10(math.Abs(v)) + slack)); first-last <= 3 && (first >= 7 || decimals > 5) {
		mantissa := strconv.FormatFloat(v/math.Pow10(first), 'f', max(0, first-last), 64)
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return minus(mantissa + "·10^" + strconv.Itoa(first))
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return minus(whole)
}

// minus sets the sign that is as wide as a digit.
func minus(text string) string { return strings.ReplaceAll(text, "-", "−") }
