package plots

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"fedsim/results"
)

// properNames are how values are written in a title.
var properNames = map[string]string{
	"3g": "3G", "lte": "LTE", "wifi": "WiFi", "ethernet": "Ethernet", "4g": "4G", "5g": "5G",
}

// keyUnits are the units that keys end in.
var keyUnits = map[string]string{
	"s": "s", "ms": "ms", "h": "h", "hours": "h", "bytes": "B", "mbps": "Mbit/s", "ghz": "GHz", "gflops": "GFLOP/s", "w": "W", "wh": "Wh",
}

// panelTitle returns the title of the panel with a value of a key: a proper
// name, "Key = value" for a dotted key or a number, and the label of a point
// of an axis as it is.
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

// seedOf is what the seeds and splits of data are called, to tell them from the seeds of
// repetitions.
var seedOf = map[string]string{"data.seed": "data seed", "data.split": "data split"}

// keyName returns the last part of a dotted key as words, and the unit that it ends in.
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

// settingText writes a value of a key as "name = value unit".
func settingText(key, value string) string {
	name, unit := keyName(key)
	if _, err := strconv.ParseFloat(value, 64); err == nil && unit != "" {
		value += " " + unit
	}
	return name + " = " + value
}

// PointText writes a place on the axes as titles and legends do: its settings,
// separated by commas.
func PointText(point []results.Setting) string {
	var parts []string
	for _, s := range point {
		parts = append(parts, settingText(s.Key, s.Value))
	}
	return strings.Join(parts, ", ")
}

// capital makes the first letter of a text a capital one, if the text begins with a
// word: symbols, as in "p = 0.1" or "sigma/mu = 1", and names, as in "async-mocha", stay.
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
