package plots

import (
	"strconv"
	"strings"

	"fedsim/results"
)

// properNames are how values are written in a title.
var properNames = map[string]string{
	"3g": "3G", "lte": "LTE", "wifi": "WiFi", "ethernet": "Ethernet", "4g": "4G", "5g": "5G",
}

// panelTitle returns the title of the panel with a value of a key: a proper
// name, "key = value" for a dotted key or a number, and the label of a point
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
		return keyName(key) + " = " + value
	}
	return value
}

// symbols are the parameters that the paper writes as a Greek letter.
var symbols = map[string]string{
	"beta": "β", "eta": "η", "gamma": "γ", "lambda": "λ", "sigma_prime": "σ′", "theta": "θ",
}

// keyName returns the last part of a dotted key as a symbol or as words; a name
// without a dot is that of an axis and stays what it was named.
func keyName(key string) string {
	last := key[strings.LastIndexByte(key, '.')+1:]
	if symbol, ok := symbols[last]; ok && last != key {
		return symbol
	}
	return strings.ReplaceAll(last, "_", " ")
}

// Place writes settings as the title of a panel does, "key = value, key = value",
// with keys in words.
func Place(settings []results.Setting) string {
	parts := make([]string, len(settings))
	for i, s := range settings {
		parts[i] = panelTitle(s.Key, s.Value)
	}
	return strings.Join(parts, ", ")
}
