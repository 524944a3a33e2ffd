package command

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// mutate returns a file with one to three mutations, or with one number replaced. It
// depends only on the random stream and the file.
func mutate(random *rand.Rand, file []byte) []byte {
	file = bytes.Clone(file)
	if random.IntN(3) == 0 { // mostly still valid, unlike other mutations
		return replaceNumber(random, file)
	}
	for range 1 + random.IntN(3) {
		file = mutations[random.IntN(len(mutations))](random, file)
	}
	return file
}

// mutations are typical damages by disks, editors and scripts.
var mutations = []func(*rand.Rand, []byte) []byte{
	flipBits, cutOff, cutOut, copySpan, insertBytes,
	swapLines, doubleLine, dropLine,
	replaceNumber, replaceNumber, replaceNumber, misspellWord, swapWords, swapWords,
}

func flipBits(random *rand.Rand, b []byte) []byte {
	for range 1 + random.IntN(8) {
		if len(b) > 0 {
			b[random.IntN(len(b))] ^= 1 << random.IntN(8)
		}
	}
	return b
}

func cutOff(random *rand.Rand, b []byte) []byte { return b[:random.IntN(len(b)+1)] }

// span returns the bounds of a part of b, usually of a few bytes.
func span(random *rand.Rand, b []byte) (from, to int) {
	from = random.IntN(len(b) + 1)
	length := len(b) - from
	if random.IntN(4) > 0 {
		length = min(length, 64)
	}
	return from, from + random.IntN(length+1)
}

func cutOut(random *rand.Rand, b []byte) []byte {
	from, to := span(random, b)
	return slices.Delete(b, from, to)
}

func copySpan(random *rand.Rand, b []byte) []byte {
	from, to := span(random, b)
	return slices.Insert(b, random.IntN(len(b)+1), bytes.Clone(b[from:to])...)
}

func insertBytes(random *rand.Rand, b []byte) []byte {
	inserted := [][]byte{
		{0}, {0xff, 0xfe}, []byte("\ufeff"), []byte("\r"), []byte("\n\n"), []byte(`"`), []byte("'''"), []byte(","),
		[]byte("é\u202e"), bytes.Repeat([]byte("["), 5000), bytes.Repeat([]byte("a."), 10_000),
		bytes.Repeat([]byte("{a="), 10_000), bytes.Repeat([]byte("\n"), 1<<20), bytes.Repeat([]byte("a"), 70_000),
		bytes.Repeat([]byte("<a>"), 3000), bytes.Repeat([]byte("9"), 400),
	}
	return slices.Insert(b, random.IntN(len(b)+1), inserted[random.IntN(len(inserted))]...)
}

// inLines changes the lines of a file. There is at least one.
func inLines(b []byte, change func([][]byte) [][]byte) []byte {
	return bytes.Join(change(bytes.Split(b, []byte("\n"))), []byte("\n"))
}

func swapLines(random *rand.Rand, b []byte) []byte {
	return inLines(b, func(lines [][]byte) [][]byte {
		i, k := random.IntN(len(lines)), random.IntN(len(lines))
		lines[i], lines[k] = lines[k], lines[i]
		return lines
	})
}

func doubleLine(random *rand.Rand, b []byte) []byte {
	return inLines(b, func(lines [][]byte) [][]byte {
		i := random.IntN(len(lines))
		return slices.Insert(lines, i, lines[i])
	})
}

func dropLine(random *rand.Rand, b []byte) []byte {
	return inLines(b, func(lines [][]byte) [][]byte {
		i := random.IntN(len(lines))
		return slices.Delete(lines, i, i+1)
	})
}

var (
	numbers = regexp.MustCompile(`-?[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?`)
	words   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.-]*`)
	// Replacements of numbers: limits of types, zeros, huge numbers, and other values.
	extremes = strings.Fields(
		`0 -1 1 2 7 0.5 -0.0 1e-320 1e308 -1e308 1e999 nan NaN inf -inf +Inf true [] "" x 1_000 1__0 0x7f
		127 255 65536 1000000 2147483647 2147483648 4294967296 1000000000000 9223372036854775807 9223372036854775808 -9223372036854775808
		18446744073709551615 18446744073709551616 0.1 0.99 1.0000001 3.9e9 1e9 1e18 [1,2] {} 2020-01-01`)
)

// inMatches replaces one match of a pattern, if any.
func inMatches(random *rand.Rand, b []byte, pattern *regexp.Regexp, by func(old []byte) []byte) []byte {
	const limit = 2000 // matches, from a random position
	from := 0
	if len(b) > 1<<16 {
		from = random.IntN(len(b) - 1<<15)
	}
	found := pattern.FindAllIndex(b[from:], limit)
	if len(found) == 0 {
		return b
	}
	at := found[random.IntN(len(found))]
	new := by(b[from+at[0] : from+at[1]])
	return slices.Replace(b, from+at[0], from+at[1], new...)
}

func replaceNumber(random *rand.Rand, b []byte) []byte {
	return inMatches(random, b, numbers, func([]byte) []byte { return []byte(extremes[random.IntN(len(extremes))]) })
}

// misspellWord changes a letter of a key or a name.
func misspellWord(random *rand.Rand, b []byte) []byte {
	return inMatches(random, b, words, func(old []byte) []byte {
		new := bytes.Clone(old)
		new[random.IntN(len(new))] = 'a' + byte(random.IntN(26))
		return new
	})
}

// swapWords replaces a key or name by another.
func swapWords(random *rand.Rand, b []byte) []byte {
	all := words.FindAll(b[:min(len(b), 1<<16)], 2000)
	if len(all) == 0 {
		return b
	}
	return inMatches(random, b, words, func([]byte) []byte { return bytes.Clone(all[random.IntN(len(all))]) })
}
