package replay

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"

	"fedsim/algorithms"
	"fedsim/internal/tools/state"
)

// ErrMismatch is the error of answers that do not go with the questions: those of another run, or
// of another version of fedsim.
var ErrMismatch = errors.New("the checkpoint is of another run: of another scenario, or another version of fedsim")

// answers is a list of answers, written at its end or read from its start. Whole numbers take as
// many bytes as they have digits in base 128.
type answers struct {
	log   []byte
	at    int  // how far it was read
	reads bool // answers are read
	err   error
	coder *state.Coder // of answers that are no numbers; made once
}

// over reports whether all answers were read.
func (a *answers) over() bool { return a.at == len(a.log) }

// mismatch ends the replay.
func (a *answers) mismatch() { a.err = ErrMismatch }

// word writes or reads a whole number.
func (a *answers) word(x *uint64) {
	if !a.reads {
		a.log = binary.AppendUvarint(a.log, *x)
		return
	}
	word, n := binary.Uvarint(a.log[a.at:])
	if *x = word; n <= 0 || a.err != nil {
		*x = 0
		a.mismatch()
		return
	}
	a.at += n
}

// mostCounted limits counts: those of bytes are exact as floats.
const mostCounted = 1 << 53

// count writes or reads a number that is not negative.
func (a *answers) count(x *int) {
	word := uint64(*x)
	if a.word(&word); word > mostCounted {
		word = 0
		a.mismatch()
	}
	*x = int(word)
}

// amount writes or reads a finite number that is not negative. Most amounts are whole and not
// large: the low bytes of their bits are zero, and the answers has few bytes of them.
func (a *answers) amount(x *float64) {
	word := bits.ReverseBytes64(math.Float64bits(*x))
	a.word(&word)
	if *x = math.Float64frombits(bits.ReverseBytes64(word)); !(*x >= 0 && *x <= math.MaxFloat64) {
		*x = 0
		a.mismatch()
	}
}

// flag writes or reads whether something holds.
func (a *answers) flag(x *bool) {
	word := uint64(0)
	if *x {
		word = 1
	}
	if a.word(&word); word > 1 {
		a.mismatch()
	}
	*x = word == 1
}

// work writes or reads local work.
func (a *answers) response(w *algorithms.Response) {
	a.count(&w.Steps)
	a.amount(&w.FLOPs)
	a.count(&w.Values)
	const capped, declared = 1, 2
	word := uint64(0)
	if w.Capped {
		word = capped
	}
	if w.Batches != 0 || w.Traffic != 0 { // few methods declare them
		word |= declared
	}
	if a.word(&word); word > capped|declared {
		a.mismatch()
		return
	}
	w.Capped = word&capped != 0
	if word&declared != 0 {
		a.count(&w.Batches)
		a.amount(&w.Traffic)
	}
}

// text writes or reads a text.
func (a *answers) text(x *string) {
	n := len(*x)
	if a.count(&n); !a.reads {
		a.log = append(a.log, *x...)
		return
	}
	if *x = ""; n > len(a.log)-a.at {
		a.mismatch()
		return
	}
	*x = string(a.log[a.at : a.at+n])
	a.at += n
}

// Write appends bytes.
func (a *answers) Write(b []byte) (int, error) {
	a.log = append(a.log, b...)
	return len(b), nil
}

// Read reads bytes.
func (a *answers) Read(b []byte) (int, error) {
	if a.over() {
		return 0, io.EOF
	}
	n := copy(b, a.log[a.at:])
	a.at += n
	return n, nil
}

// code writes or reads an answer that a function passes to a coder.
func (a *answers) code(pass func(*state.Coder)) {
	if a.coder == nil || a.coder.Reads() != a.reads {
		if a.coder = state.Writing(a); a.reads {
			a.coder = state.Reading(a)
		}
	}
	if a.err != nil {
		return
	}
	if pass(a.coder); a.coder.Err() != nil {
		a.mismatch()
	}
}
