package parquetrows

import (
	"errors"
	"testing"

	"fedsim/internal/tools/expect"
)

// Errors of corrupt files have no texts of the runtime.
func TestCorrupt(t *testing.T) {
	panicked := func(do func()) (err error) {
		defer func() { err = Corrupt(recover()) }()
		do()
		return nil
	}
	var none []int
	for want, do := range map[string]func(){
		"is corrupt: its parts contradict each other": func() { _ = none[len(none)] },
		"is corrupt: no page":                         func() { panic(errors.New("no page")) },
	} {
		err := panicked(do)
		expect.That(t, err.Error() == want, "%v, want %s", err, want)
	}
	if err :=
		Corrupt("reflect: slice index out of range"); err.Error() != "is corrupt: its parts contradict each other" {
		t.Error(err)
	}
}
