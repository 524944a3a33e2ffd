package pipe

import "github.com/go-json-experiment/json"

// Encode returns a value as a line without its end. Maps are in the order of their keys.
func Encode(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }
