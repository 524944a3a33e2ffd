package plots

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"fedsim/results"
)

// properNames are the spellings of values in titles.
var properNames = map[string]string{
	"3g": "3G", "lte": "LTE", "wifi": "WiFi", "ethernet": "Ethernet", "4g": "4G", "5g": "5G",
}

// keyUnits are the units of keys by suffix.
var keyUnits = map[string]string{
	"s": "s", "ms": "ms", "h": "h", "hours": "h", "bytes": "B", "mbps": "Mbit/s", "ghz": "GHz", "gflops": "GFLOP/s",
	"w": "W", "wh": "Wh",
}

// panelTitle returns the title of the panel for a value of a key: a proper name, "Key =
// value" for a dotted key or a number, or the label of a point.
func panelTitle(key, value string) string {
	if key == "" {
		return ""
	}
	if name, ok := properNames[value]; ok {
		return name
	}
	_, err := strconv.ParseFloat(value, 64)
	if strings.Contains(key, ".") || err == nil {
		return capital(settingText(key, value))
	}
	return capital(value)
}

// seedOf are the names of the seeds and splits of data, which differ from the seeds of
// repetitions.
var seedOf = map[string]string{"data.seed": "data seed", "data.split_seed": "data split"}

// keyName returns the last part of a dotted key as words, and the unit of its suffix.
func keyName(key string) (name, unit string) {
	if name, ok := seedOf[key]; ok {
		return name, ""
	}
	name = key[strings.LastIndexByte(key, '.')+1:]
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		if unit = keyUnits[name[i+1:]]; unit != "" {
			name = name[:i]
		}
	}
	return strings.ReplaceAll(name, "_", " "), unit
}

// settingText returns "name = value unit".
func settingText(key, value string) string {
	name, unit := keyName(key)
	if _, err := strconv.ParseFloat(value, 64); err == nil && unit != "" {
		value += " " + unit
	}
	return name + " = " + value
}

// PointText returns the settings of a point as in titles and legends, separated by
// commas.
func PointText(point []results.Setting) string {
	var parts []string
	for _, s := range point {
		parts = append(parts, settingText(s.Key, s.Value))
	}
	return strings.Join(parts, ", ")
}

// capital capitalizes a text that starts with a word. It does not change symbols ("p =
// 0.1", "sigma/mu = 1") and names ("async-mocha").
func capital(text string) string {
	word, rest, _ := strings.Cut(text, " ")
	word = strings.TrimRight(word, ",:;")
	symbol := utf8.RuneCountInString(word) == 1 && (rest == "" || rest[0] == '=')
	if word == "" || symbol || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
