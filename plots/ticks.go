package plots

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// ticks are the ticks of an axis in axis space. Ticks without a label are minor.
type ticks []plot.Tick

// Ticks implements plot.Ticker; it ignores the limits.
func (t ticks) Ticks(min, max float64) []plot.Tick { return t }

// unlabeled returns the same ticks with blank labels, for an axis that shares the labels
// of its neighbor. A blank label marks a major tick.
func (t ticks) unlabeled() ticks {
	bare := append(ticks(nil), t...)
	for i := range bare {
		if bare[i].Label != "" {
			bare[i].Label = " "
		}
	}
	return bare
}

// room returns the minimum distance of two labels on an axis of a length.
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

// ticks returns the ticks of an axis with about most labels.
func (s scale) ticks(r interval, u unit, most int, powers bool) ticks {
	if s == logarithmic {
		return logTicks(r, u, most, powers)
	}
	return linearTicks(r, u, most)
}

// tickStyle returns the style of the labels of ticks.
func tickStyle() text.Style {
	sty := textStyle(tickSize, false)
	sty.Handler = exponents{text.Plain{Fonts: font.DefaultCache}}
	return sty
}

// xTicks returns as many ticks of a horizontal axis as their labels have room.
func (s scale) xTicks(x interval, u unit, powers bool, width vg.Length) (t ticks) {
	sty := tickStyle()
	for most := 7; most > 1; most-- {
		if t = s.ticks(x, u, most, powers); t.room(x, width) > t.widest(sty)+2*tickSize {
			return t
		}
	}
	for t.labels() >= 2*leastLabels-1 && t.room(x, width) <= t.widest(sty)+tickSize {
		t = t.everySecond()
	}
	return t
}

// everySecond returns the ticks with every second label, from the first one.
func (t ticks) everySecond() ticks {
	fewer, n := append(ticks(nil), t...), 0
	for i := range fewer {
		if fewer[i].Label != "" {
			if n++; n%2 == 0 {
				fewer[i].Label = ""
			}
		}
	}
	return fewer
}

// yTicks returns the ticks of a vertical axis.
func (s scale) yTicks(y interval, powers bool) ticks {
	most := 6
	if s == logarithmic {
		most = 7
	}
	return s.ticks(y, unit{Size: 1}, most, powers)
}

// slack is the relative tolerance for ticks at the limits.
const slack = 1e-9

func (in interval) holds(place float64) bool {
	margin := slack * in.length()
	return place >= in.min-margin && place <= in.max+margin
}

// leastWidth is the width of an axis, as a share of its largest number, below which numbers differ by
// rounding alone and get one tick.
const leastWidth = 1e-12

// leastLabels is the number of labels that an axis has at least: two tell its ends alone.
const leastLabels = 3

// labels returns how many of the ticks have a label.
func (t ticks) labels() (n int) {
	for _, tick := range t {
		if tick.Label != "" {
			n++
		}
	}
	return n
}

// linearTicks returns ticks at multiples of 1, 2 or 5 times a power of ten units: about
// most labels, at least leastLabels, with minor ticks between.
func linearTicks(r interval, u unit, most int) ticks {
	lo, hi := r.min/u.Size, r.max/u.Size
	if !(hi-lo > leastWidth*max(math.Abs(lo), math.Abs(hi))) {
		return ticks{{Value: r.min, Label: numberText(lo, cmp.Or(math.Abs(lo), 1))}}
	}
	step, minor := u.niceStep((hi - lo) / float64(most))
	var t ticks
	for k := math.Ceil(lo/step - slack); k*step <= hi+slack*(hi-lo); k++ {
		t = append(t, plot.Tick{Value: k * step * u.Size, Label: numberText(k*step, step)})
	}
	if len(t) < leastLabels {
		return linearTicks(r, u, most+1)
	}
	for k := math.Ceil(lo/minor - slack); k*minor <= hi+slack*(hi-lo); k++ {
		if on := k * minor / step; math.Abs(on-math.Round(on)) > 0.01 {
			t = append(t, plot.Tick{Value: k * minor * u.Size})
		}
	}
	return t
}

// clockSteps are the steps of major and minor ticks in hours or minutes: the axis of a day
// has ticks at 0, 6, 12, 18 and 24.
var clockSteps = map[string][]struct{ step, minor float64 }{
	"h":   {{1, 0.25}, {2, 0.5}, {3, 1}, {6, 1}, {12, 3}, {24, 6}},
	"min": {{1, 0.25}, {2, 0.5}, {5, 1}, {10, 2}, {15, 5}, {30, 10}, {60, 15}},
}

// niceStep returns the smallest step of at least want, 1, 2 or 5 times a power of ten or
// one of clockSteps, and the step of its minor ticks.
func (u unit) niceStep(want float64) (step, minor float64) {
	for _, s := range clockSteps[u.Name] {
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

// hasDecades reports whether a logarithmic axis contains two powers of ten.
func hasDecades(r interval) bool {
	return math.Floor(r.max+slack)-math.Ceil(r.min-slack) >= 1
}

// decades is a logarithmic axis whose ticks are at 1 to 9 times powers of ten.
type decades struct {
	in          interval // logarithms of values in the unit
	shift       float64  // logarithm of the unit
	first, last int      // powers of ten on the axis
	powers      bool     // labels are powers
}

// each calls visit for 1 to 9 times the powers of ten, where they are on the axis.
func (de *decades) each(visit func(mantissa, decade int, place float64)) {
	for d := de.first - 1; d <= de.last; d++ {
		for k := 1; k <= 9; k++ {
			if place := float64(d) + math.Log10(float64(k)); de.in.holds(place) {
				visit(k, d, place)
			}
		}
	}
}

// ticks returns the ticks: labeled says where one is and has a label.
func (de *decades) ticks(labeled func(mantissa, decade int) (there, label bool)) (t ticks) {
	de.each(func(k, d int, place float64) {
		there, label := labeled(k, d)
		if !there {
			return
		}
		tick := plot.Tick{Value: place + de.shift}
		if label {
			tick.Label = decadeText(k, d, de.powers)
		}
		t = append(t, tick)
	})
	return t
}

// between returns the multiples of powers of ten that have labels besides those, on an axis with
// two powers of ten: 3, or 2 and 5 where there is room.
func (de *decades) between(most int) (labeled []int) {
	if de.last-de.first != 1 {
		return nil
	}
	for _, ks := range [][]int{{3}, {2, 5}} {
		n := 2
		de.each(func(k, _ int, _ float64) {
			if slices.Contains(ks, k) {
				n++
			}
		})
		if n <= most || labeled == nil && n > 2 {
			labeled = ks
		}
	}
	return labeled
}

// logTicks returns ticks at powers of ten, with about most labels, at least leastLabels. If the
// axis contains two of them, it labels 3 times powers of ten, too, or 2 and 5 times. If it
// contains fewer, it labels 1, 2 and 5 times powers of ten; if these are too few, multiples of a
// step.
func logTicks(r interval, u unit, most int, powers bool) ticks {
	shift := math.Log10(u.Size)
	in := interval{r.min - shift, r.max - shift}
	a := decades{in, shift, int(math.Ceil(in.min - slack)), int(math.Floor(in.max + slack)), powers}
	if hasDecades(in) {
		stride, anchor := max(1, min((a.last-a.first)/most+1, (a.last-a.first)/(leastLabels-1))), 0
		if a.first+mod(-a.first, stride)+(leastLabels-1)*stride > a.last {
			anchor = a.last // multiples of the stride give too few labels
		}
		between := a.between(most)
		return a.ticks(func(k, d int) (there, label bool) {
			return k == 1 || stride == 1, k == 1 && mod(d-anchor, stride) == 0 || slices.Contains(between, k)
		})
	}
	t := a.ticks(func(k, _ int) (there, label bool) { return true, k == 1 || k == 2 || k == 5 })
	if t.labels() >= leastLabels {
		return t
	}
	t = linearTicks(interval{math.Pow(10, in.min), math.Pow(10, in.max)}, unit{Size: 1}, most)
	for i := range t {
		t[i].Value = math.Log10(t[i].Value) + shift
	}
	return t
}

// mod returns the non-negative remainder.
func mod(a, b int) int { return ((a % b) + b) % b }

// decadeText formats mantissa times ten to the decade, with "^" before the exponent, or
// without powers as a plain number.
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

// numberText formats a multiple of a step with the decimals of the step and separators of
// thousands. Very large and very small numbers with few digits get a power of ten.
func numberText(v, step float64) string {
	last := int(math.Floor(math.Log10(step) + slack)) // power of ten of the last digit
	decimals := max(0, -last)
	if v == 0 {
		if decimals > 5 {
			decimals = 0
		}
	} else if first := int(math.Floor(math.Log10(math.Abs(v)) + slack)); first-last <= 3 &&
		(first >= 7 || decimals > 5) {
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

// minus replaces hyphens by minus signs, which have the width of a digit.
func minus(text string) string { return strings.ReplaceAll(text, "-", "−") }
