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

// Config is the table [compression] of a scenario.
type Config struct {
	Up       string  `toml:"up" doc:"codec of updates: \"none\", \"float16\", \"qsgd\" (random rounding to levels), \"top-k\" (the largest values), \"random-k\" (values drawn by a seed), \"sign\" (signs and the mean magnitude), \"sketch\" (a count sketch by a seed) or \"sparse\" (all values but zeros, without loss). docs/compression.md has formulas and sources"`
	Down     string  `toml:"down" doc:"codec of the model that the server sends, as for up. \"top-k\", \"random-k\", \"sign\" and \"sketch\" send changes since the client's last model: one that missed some gets them all, or the whole model if that is smaller"`
	Levels   int     `toml:"levels" doc:"qsgd: number s of levels of a magnitude above 0"`
	Coding   string  `toml:"coding" doc:"qsgd: code of a level: \"plain\" (a fixed number of bits) or \"elias\" (Elias omega: few bits for small levels, so that sizes depend on the values)"`
	Share    float64 `toml:"share" doc:"top-k and random-k: share k/d of the values of a vector that travel; sketch: columns for each value"`
	Count    int     `toml:"count" doc:"top-k, random-k, sketch: the number k itself, at most d; 0: share decides"`
	Indices  string  `toml:"indices" doc:"top-k and sparse: code of the places of the values: \"uint32\" (4 bytes each), \"packed\" (ceil(log2 d) bits each) or \"bitmap\" (d bits in all)"`
	Feedback bool    `toml:"feedback" doc:"whether a client adds the error of a lossy message to its next one (error feedback): up = \"top-k\", \"random-k\", \"sign\" or \"sketch\". It takes memory for one model on every client that has taken part"`
}

// Defaults returns the settings of no compression.
func Defaults() Config {
	return Config{Up: None, Down: None, Levels: 16, Coding: plainCoding, Share: 0.01, Indices: packed, Feedback: true}
}

// mostLevels keeps levels exact as numbers of few bits.
const mostLevels = 1 << 24

// Validate reports everything wrong with the table.
func (c *Config) Validate(check *config.Checker) {
	check.OneOf("up", c.Up, Names()...)
	check.OneOf("down", c.Down, Names()...)
	check.Require(c.Levels >= 1 && c.Levels <= mostLevels, "levels", c.Levels, fmt.Sprintf("must be in [1, %d]", mostLevels))
	check.OneOf("coding", c.Coding, plainCoding, elias)
	check.Require(c.Share > 0 && c.Share <= 1, "share", c.Share, "must be in (0, 1]")
	check.Require(c.Count >= 0, "count", c.Count, "must not be negative")
	check.OneOf("indices", c.Indices, words, packed, bitmap)
}

// On reports whether any message is compressed.
func (c *Config) On() bool { return c != nil && (c.Up != None || c.Down != None) }

// FeedsBack reports whether a codec of the devices' messages has error feedback.
func (c *Config) FeedsBack() bool { return c.Feedback && Biased(c.Up) }

// Biased reports whether a codec leaves out a part of a vector that repeats in every message
// unless the sender feeds it back. A receiver of such messages needs to hold what came before.
func Biased(codec string) bool {
	return codec == TopK || codec == RandomK || codec == Sign || codec == Sketch
}

// Varies reports whether the sizes of the messages of a codec depend on the values.
func (c *Config) Varies(codec string) bool {
	return codec == Sparse || codec == QSGD && c.Coding == elias
}
