package results

import (
	"fmt"
	"strconv"
)

// Hash is a 64-bit hash, 16 hexadecimal digits in text.
type Hash uint64

// String returns the 16 digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// MarshalText returns the 16 digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 16 hexadecimal digits.
func (h *Hash) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil || len(text) != 16 {
		return fmt.Errorf("hash %q: must be 16 hexadecimal digits", text)
	}
	*h = Hash(v)
	return nil
}
