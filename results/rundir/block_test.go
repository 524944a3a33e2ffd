package rundir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/internal/tools/racetest"
)

// told is a block that was read, with its content.
type told struct {
	Kind          byte
	Place, Number int
	Content       string
}

// readBlocks reads the blocks of a log; those that are skipped are read again by their place.
func readBlocks(log []byte, all bool) (list []told, cut int64, err error) {
	r := blockReader{in: bytes.NewReader(log), size: int64(len(log)), all: all}
	for {
		b, content, err := r.next()
		if err == io.EOF {
			return list, r.cut(), nil
		}
		if err == nil && content == nil && b.size > 0 {
			again := blockReader{in: r.in, size: r.size}
			content, err = again.contentOf(b)
		}
		if err != nil {
			return list, r.cut(), err
		}
		list = append(list, told{b.kind, b.place, b.number, string(content)})
	}
}

// anyBlocks draws a log, its blocks, and where each ends.
func anyBlocks(t *rapid.T) (log []byte, list []told, ends []int) {
	var last chain
	for range rapid.IntRange(1, 6).Draw(t, "blocks") {
		b := told{
			rapid.SampledFrom([]byte{headBlock, roundBlock, partBlock, 'd', 'x'}).Draw(t, "kind"),
			rapid.IntRange(0, 1<<32-1).Draw(t, "place"), rapid.IntRange(0, 1<<32-1).Draw(t, "number"),
			string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "content")),
		}
		if rapid.IntRange(0, 20).Draw(t, "long") == 0 {
			b.Content += string(make([]byte, windowSize))
		}
		log = last.appendBlock(log, b.Kind, b.Place, b.Number, []byte(b.Content))
		list, ends = append(list, b), append(ends, len(log))
	}
	return log, list, ends
}

// A log that is cut off at any byte has the blocks before it. One with a byte that is flipped, or with blocks that
// are moved, doubled or deleted, has those before that place, and is an error there, unless only the last
// block is lost.
func TestLogsHaveTheirBlocksOrAnError(t *testing.T) {
	racetest.Skip(t, "damages logs, which one goroutine reads")
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log, list, ends := anyBlocks(t)
		all := rapid.Bool().Draw(t, "all")
		for end := range len(log) + 1 {
			n := 0
			for n < len(ends) && ends[n] <= end {
				n++
			}
			got, cut, err := readBlocks(log[:end], all)
			whole := append([]int{0}, ends...)[n]
			if err != nil || cut != int64(end-whole) || !slices.Equal(got, list[:n]) {
				t.Fatalf("%d of %d bytes: %v and %d bytes, want %d blocks: %v", end, len(log), got, cut, n, err)
			}
		}
		prefix := func(what string, damaged []byte, last bool) {
			got, cut, err := readBlocks(damaged, all)
			n := len(got)
			if n > len(list) || !slices.Equal(got, list[:n]) {
				t.Fatalf("%s: %s", what, cmp.Diff(list, got))
			}
			at := append([]int{0}, ends...)[n]
			if where, is := errors.AsType[errBlock](err); is && int64(where) != int64(at) {
				t.Fatalf("%s: %v, want byte %d", what, err, at)
			} else if !is && (err != nil || cut == 0 || !last) {
				t.Fatalf("%s: %d blocks, %d bytes cut off: %v", what, n, cut, err)
			}
		}
		for at := range log {
			damaged := bytes.Clone(log)
			damaged[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			prefix(fmt.Sprintf("flipped at %d", at), damaged, len(ends) == 1 || at >= ends[len(ends)-2])
		}
		starts := append([]int{0}, ends[:len(ends)-1]...)
		i := rapid.IntRange(0, len(ends)-1).Draw(t, "which")
		one := log[starts[i]:ends[i]]
		prefix("doubled", slices.Concat(log[:ends[i]], one, log[ends[i]:]), false)
		if i+1 < len(ends) {
			prefix("deleted", slices.Concat(log[:starts[i]], log[ends[i]:]), false)
			if two := log[ends[i]:ends[i+1]]; !bytes.Equal(one, two) {
				prefix("swapped", slices.Concat(log[:starts[i]], two, one, log[ends[i+1]:]), false)
			}
		}
	})
}

// resealed makes blocks with right checksums of any bytes.
func resealed(text []byte) (log []byte) {
	var last chain
	for len(text) >= headerSize {
		h := parseHeader(text, 0)
		content := text[headerSize:min(len(text), headerSize+h.size)]
		log = last.appendBlock(log, h.kind, h.place, h.number, content)
		text = text[headerSize+len(content):]
	}
	return append(log, text...)
}

// replacedInLog replaces the first such text in a log by one of any length, and seals its blocks again.
func replacedInLog(log []byte, from, to string) (text []byte) {
	var last chain
	r := blockReader{in: bytes.NewReader(log), size: int64(len(log)), all: true}
	for done := false; ; {
		b, content, err := r.next()
		if err != nil {
			return text
		}
		if !done && bytes.Contains(content, []byte(from)) {
			content, done = bytes.Replace(content, []byte(from), []byte(to), 1), true
		}
		text = last.appendBlock(text, b.kind, b.place, b.number, content)
	}
}

// blocksOf splits a log.
func blocksOf(log []byte) (blocks [][]byte) {
	for len(log) > 0 {
		n := headerSize + int(binary.LittleEndian.Uint32(log[9:]))
		blocks, log = append(blocks, log[:n]), log[n:]
	}
	return blocks
}
