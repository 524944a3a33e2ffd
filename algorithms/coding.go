package algorithms

import "fedsim/config"

// Coding says how messages between server and devices are coded, of methods with Messages.Coded.
type Coding struct {
	Up, Down  Code
	FeedsBack bool // devices add the error of a message to their next one

	// Check reports what of the codes the method of a run cannot live with. Without learning, sizes must
	// not depend on values. Noisy is true when noise is added to clipped updates.
	Check func(c *config.Checker, method *Description, learns, noisy bool)
}

// Code is the code of the messages of a side.
type Code struct {
	// New returns a codec. Its numbers take 4 or 8 bytes, as network.wire.bytes_per_value says. With
	// unbiased, random codecs scale their values so that its expectation is the vector; else so that they
	// can be fed back.
	New      func(valueBytes int, unbiased bool) Codec
	None     bool // every value travels unchanged
	Lossless bool // the decoded vector is the coded one
	// Biased codes leave out a part of a vector that repeats in every message unless the sender feeds it
	// back. The server's are changes of the vectors that devices hold.
	Biased bool
}

// Codec codes vectors as messages. Goroutines need one each.
type Codec interface {
	// Code replaces v by its decoded message, and returns the size of the message in bytes.
	Code(v []float64, s Stream) (bytes int)
	// Bytes returns the size of a message of d values; its usual size if it varies.
	Bytes(d int) int
	// FLOPs returns the cost of encoding and of decoding d values.
	FLOPs(d int) (encode, decode float64)
}
