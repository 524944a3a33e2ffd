package plots

import (
	"strconv"
	"strings"
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

// keyName returns the last part of a dotted key as words.
func keyName(key string) string {
	return strings.ReplaceAll(key[strings.LastIndexByte(key, '.')+1:], "_", " ")
}
