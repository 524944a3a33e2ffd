package compress

import (
	"fmt"

	"fedsim/config"
)

// The codecs.
const (
	None    = "none"     // every value unchanged
	Float16 = "float16"  // IEEE 754 binary16, rounded to nearest even
	QSGD    = "qsgd"     // random rounding to levels
	TopK    = "top-k"    // the largest values
	RandomK = "random-k" // values drawn by a seed
	Sign    = "sign"     // the signs and the mean magnitude
	Sketch  = "sketch"   // a count sketch with one row
	Sparse  = "sparse"   // the values that are not zero
)

// Names returns the names of the codecs.
func Names() []string { return []string{None, Float16, QSGD, TopK, RandomK, Sign, Sketch, Sparse} }

// The codings of the levels of QSGD.
const (
	plainCoding = "plain" // ceil(log2(2 s + 1)) bits for each
	elias       = "elias" // Elias omega code of the level + 1, and a sign
)

// The codings of the indices of values.
const (
	words  = "uint32" // 32 bits for each
	packed = "packed" // ceil(log2 d) bits for each
	bitmap = "bitmap" // one bit for each value of the vector
)

// Options are the options of a codec.
type Options struct {
	// qsgd: number s of levels of a magnitude above 0
	Levels int `toml:"levels"`
	// qsgd: code of a level: "plain" (a fixed number of bits) or "elias" (Elias omega: few bits for
	// small levels, so that sizes depend on the values)
	Coding string `toml:"coding"`
	// top-k and random-k: how many values k of a vector travel, at most d, or which share of them;
	// sketch: columns, or columns for each value
	K config.Amount `toml:"k"`
	// top-k and sparse: code of the places of the values: "uint32" (4 bytes each), "packed"
	// (ceil(log2 d) bits each) or "bitmap" (d bits in all)
	Indices string `toml:"indices"`
}

// UpOptions are the options of the codec of updates.
type UpOptions struct {
	Options
	// whether a client adds the error of a lossy message to its next one (error feedback): up =
	// "top-k", "random-k", "sign" or "sketch". It takes memory for one model on every client that
	// has taken part
	Feedback bool `toml:"feedback"`
}

// Config is the table [compression] of a scenario.
type Config struct {
	// codec of updates: "none", "float16", "qsgd" (random rounding to levels), "top-k" (the largest
	// values), "random-k" (values drawn by a seed), "sign" (signs and the mean magnitude), "sketch"
	// (a count sketch by a seed) or "sparse" (all values but zeros, without loss).
	// docs/methods.md#compression has formulas and sources
	Up string `toml:"up"`
	// codec of the model that the server sends, as for up. "top-k", "random-k", "sign" and "sketch"
	// send changes since the client's last model: one that missed some gets them all, or the whole
	// model if that is smaller
	Down string `toml:"down"`
	// of the codec up
	UpOptions UpOptions `toml:"up_options"`
	// of the codec down
	DownOptions Options `toml:"down_options"`
}

// Defaults returns the settings of no compression.
func Defaults() Config {
	options := Options{Levels: 16, Coding: plainCoding, K: config.Amount{Share: 0.01}, Indices: packed}
	return Config{Up: None, Down: None, UpOptions: UpOptions{Options: options, Feedback: true}, DownOptions: options}
}

// mostLevels keeps levels exact as numbers of few bits.
const mostLevels = 1 << 24

// Validate reports everything wrong with the table.
func (c *Config) Validate(check *config.Checker) {
	check.OneOf("up", c.Up, Names()...)
	check.OneOf("down", c.Down, Names()...)
	c.UpOptions.Validate(check.In("up_options"))
	c.DownOptions.Validate(check.In("down_options"))
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(check *config.Checker) {
	check.Require(o.Levels >= 1 && o.Levels <= mostLevels, "levels", o.Levels,
		fmt.Sprintf("must be in [1, %d]", mostLevels))
	check.Require(o.K != config.Amount{}, "k", 0, "must be positive")
	check.OneOf("coding", o.Coding, plainCoding, elias)
	check.OneOf("indices", o.Indices, words, packed, bitmap)
}

// On reports whether any message is compressed.
func (c *Config) On() bool { return c != nil && (c.Up != None || c.Down != None) }

// FeedsBack reports whether a codec of the devices' messages has error feedback.
func (c *Config) FeedsBack() bool { return c.UpOptions.Feedback && Biased(c.Up) }

// Biased reports whether a codec leaves out a part of a vector that repeats in every message
// unless the sender feeds it back. A receiver of such messages needs to hold what came before.
func Biased(codec string) bool {
	return codec == TopK || codec == RandomK || codec == Sign || codec == Sketch
}

// Varies reports whether the sizes of the messages of a codec depend on the values.
func (o *Options) Varies(codec string) bool {
	return codec == Sparse || codec == QSGD && o.Coding == elias
}
