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

// tape is a list of answers, written at its end or read from its start. Whole numbers take as
// many bytes as they have digits in base 128.
type tape struct {
	log   []byte
	at    int  // how far it was read
	reads bool // answers are read
	err   error
	coder *state.Coder // of answers that are no numbers; made once
}

// over reports whether all answers were read.
func (t *tape) over() bool { return t.at == len(t.log) }

// mismatch ends the replay.
func (t *tape) mismatch() { t.err = ErrMismatch }

// word writes or reads a whole number.
func (t *tape) word(x *uint64) {
	if !t.reads {
		t.log = binary.AppendUvarint(t.log, *x)
		return
	}
	word, n := binary.Uvarint(t.log[t.at:])
	if *x = word; n <= 0 || t.err != nil {
		*x = 0
		t.mismatch()
		return
	}
	t.at += n
}

// mostCounted limits counts: those of bytes are exact as floats.
const mostCounted = 1 << 53

// count writes or reads a number that is not negative.
func (t *tape) count(x *int) {
	word := uint64(*x)
	if t.word(&word); word > mostCounted {
		word = 0
		t.mismatch()
	}
	*x = int(word)
}

// amount writes or reads a finite number that is not negative. Most amounts are whole and not
// large: the low bytes of their bits are zero, and the tape has few bytes of them.
func (t *tape) amount(x *float64) {
	word := bits.ReverseBytes64(math.Float64bits(*x))
	t.word(&word)
	if *x = math.Float64frombits(bits.ReverseBytes64(word)); !(*x >= 0 && *x <= math.MaxFloat64) {
		*x = 0
		t.mismatch()
	}
}

// flag writes or reads whether something holds.
func (t *tape) flag(x *bool) {
	word := uint64(0)
	if *x {
		word = 1
	}
	if t.word(&word); word > 1 {
		t.mismatch()
	}
	*x = word == 1
}

// work writes or reads local work.
func (t *tape) work(w *algorithms.Work) {
	t.count(&w.Steps)
	t.amount(&w.FLOPs)
	t.count(&w.Values)
	const capped, declared = 1, 2
	word := uint64(0)
	if w.Capped {
		word = capped
	}
	if w.Batches != 0 || w.Traffic != 0 { // few methods declare them
		word |= declared
	}
	if t.word(&word); word > capped|declared {
		t.mismatch()
		return
	}
	w.Capped = word&capped != 0
	if word&declared != 0 {
		t.count(&w.Batches)
		t.amount(&w.Traffic)
	}
}

// text writes or reads a text.
func (t *tape) text(x *string) {
	n := len(*x)
	if t.count(&n); !t.reads {
		t.log = append(t.log, *x...)
		return
	}
	if *x = ""; n > len(t.log)-t.at {
		t.mismatch()
		return
	}
	*x = string(t.log[t.at : t.at+n])
	t.at += n
}

// Write appends bytes.
func (t *tape) Write(b []byte) (int, error) {
	t.log = append(t.log, b...)
	return len(b), nil
}

// Read reads bytes.
func (t *tape) Read(b []byte) (int, error) {
	if t.over() {
		return 0, io.EOF
	}
	n := copy(b, t.log[t.at:])
	t.at += n
	return n, nil
}

// code writes or reads an answer that a function passes to a coder.
func (t *tape) code(pass func(*state.Coder)) {
	if t.coder == nil || t.coder.Reads() != t.reads {
		if t.coder = state.Writing(t); t.reads {
			t.coder = state.Reading(t)
		}
	}
	if t.err != nil {
		return
	}
	if pass(t.coder); t.coder.Err() != nil {
		t.mismatch()
	}
}
