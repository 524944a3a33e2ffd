package columns

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Significant formats a number with three significant digits, and with all digits
// before the decimal point: 0.0123, 1.50, 12.3, 12345. Zero is 0.
func Significant(v float64) string {
	if math.Abs(v) < 0.0995 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	decimals := 2
	for limit := 9.995; decimals > 0 && math.Abs(v) >= limit; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Count returns a number and its noun: "1 device", "2 devices".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Exact formats a number with the fewest digits that read back to the same bits. NaN is empty.
func Exact(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Rounded returns seconds of real time with the precision with which they are displayed.
func Rounded(seconds float64) time.Duration {
	d := time.Duration(min(seconds, 1e9) * float64(time.Second))
	switch {
	case d < time.Minute:
		return d.Round(time.Second)
	case d < 10*time.Minute:
		return d.Round(10 * time.Second)
	default:
		return d.Round(time.Minute)
	}
}

// Span formats seconds of real time; "-" if they are not known.
func Span(seconds float64) string {
	if math.IsNaN(seconds) {
		return "-"
	}
	text := Rounded(seconds).String()
	if seconds >= 10*60 {
		text = strings.TrimSuffix(text, "0s") // it is rounded to minutes
	}
	return text
}
