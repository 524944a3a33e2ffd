package rundir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A log is a sequence of blocks. A block is a header and its content. The header has, little-endian,
//
//	kind    1 byte
//	place   4 bytes: of the run in the scenario
//	number  4 bytes: see the kinds
//	size    4 bytes: of the content
//	sum     4 bytes: CRC-32C of the content
//	chain   4 bytes: CRC-32C of the header before it, continued from the chain of the block before
//
// So a block that was moved, doubled, deleted or added does not fit, and a reader skips contents that it does not
// need. A kill or a full disk cuts the last block off: readers end before it. Another block that does not fit is
// an error.
const (
	headerSize = 21
	chainAt    = headerSize - 4
)

// mostBlock is the length in bytes at which the content of a block ends, where it can be divided.
const mostBlock = 1 << 16

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// block is a block in a log.
type block struct {
	kind          byte
	place, number int
	at            int64 // of its content
	size          int
	sum           uint32
}

// chain is that of the last block.
type chain uint32

// seal sets the header of a block: b is a header without values, and the content.
func (c *chain) seal(b []byte, kind byte, place, number int) {
	content := b[headerSize:]
	b[0] = kind
	for i, v := range []uint32{uint32(place), uint32(number), uint32(len(content)), crc32.Checksum(content, crcTable)} {
		binary.LittleEndian.PutUint32(b[1+4*i:], v)
	}
	*c = c.next(b)
	binary.LittleEndian.PutUint32(b[chainAt:], uint32(*c))
}

// parseHeader returns the block of a header at a place of the log.
func parseHeader(h []byte, at int64) block {
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(h[1+4*i:]) }
	return block{h[0], int(field(0)), int(field(1)), at + headerSize, int(field(2)), field(3)}
}

// next returns the chain behind a header.
func (c chain) next(header []byte) chain {
	return chain(crc32.Update(uint32(c), crcTable, header[:chainAt]))
}

// appendBlock appends a block.
func (c *chain) appendBlock(b []byte, kind byte, place, number int, content []byte) []byte {
	start := len(b)
	b = append(append(b, make([]byte, headerSize)...), content...)
	c.seal(b[start:], kind, place, number)
	return b
}

// errBlock is the error of a block that does not fit the one before, or its checksum.
type errBlock int64 // where it begins

func (e errBlock) Error() string { return fmt.Sprintf("is corrupt at byte %d", int64(e)) }

// blockReader reads the blocks of a log one by one.
type blockReader struct {
	in    io.ReaderAt
	size  int64 // of the log
	all   bool  // check all contents; else next skips those of rows and states, except for the last block
	at    int64 // of the next block; at the end of the log, that of the first byte cut off
	chain chain

	window  []byte // of the log, from a place on
	from    int64
	content []byte
}

// windowSize is the size of what is read at once: a block of rows is skipped, and several rounds are not.
const windowSize = 1 << 12

// read returns bytes of the log, which are valid until the next call.
func (r *blockReader) read(at int64, size int) ([]byte, error) {
	if size > windowSize {
		if cap(r.content) < size {
			r.content = make([]byte, size)
		}
		_, err := r.in.ReadAt(r.content[:size], at)
		return r.content[:size], err
	}
	if at < r.from || at+int64(size) > r.from+int64(len(r.window)) {
		if r.window == nil {
			r.window = make([]byte, windowSize)
		}
		r.from, r.window = at, r.window[:min(windowSize, r.size-at)]
		n, err := r.in.ReadAt(r.window, at)
		if r.window = r.window[:n]; n < size {
			return nil, err
		}
	}
	return r.window[at-r.from:][:size], nil
}

// next returns the next block and its content, nil if it was skipped, both valid until the next call. The error at the
// end of the log is io.EOF.
func (r *blockReader) next() (b block, content []byte, err error) {
	if r.size-r.at < headerSize {
		return b, nil, io.EOF
	}
	h, err := r.read(r.at, headerSize)
	if err != nil {
		return b, nil, err
	}
	after := r.chain.next(h)
	if uint32(after) != binary.LittleEndian.Uint32(h[chainAt:]) {
		return b, nil, errBlock(r.at)
	}
	b = parseHeader(h, r.at)
	end := b.at + int64(b.size)
	if end > r.size {
		return b, nil, io.EOF
	}
	if r.all || !b.isBulk() || end == r.size {
		if content, err = r.contentOf(b); errors.As(err, new(errBlock)) && end == r.size {
			return b, nil, io.EOF
		}
		if err != nil {
			return b, nil, err
		}
	}
	r.at, r.chain = end, after
	return b, content, nil
}

// contentOf returns the content of a block, which is valid until the next call.
func (r *blockReader) contentOf(b block) ([]byte, error) {
	content, err := r.read(b.at, b.size)
	if err == nil && crc32.Checksum(content, crcTable) != b.sum {
		err = errBlock(b.at - headerSize)
	}
	return content, err
}

// cut returns how many bytes of the log were cut off, after its end was reached.
func (r *blockReader) cut() int64 { return r.size - r.at }
