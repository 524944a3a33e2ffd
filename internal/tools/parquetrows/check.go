package parquetrows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The library allocates by the sizes that a file claims. These checks come before.

const (
	// A page may claim packedFloor values and bytes, or packedMost times its size in the
	// file, whichever is more.
	packedFloor = 1 << 22
	packedMost  = 1 << 13

	maxPageHeader = 1 << 20
)

// Corrupt returns the error of a file on which the library panics. Texts of the runtime say nothing to readers.
func Corrupt(cause any) error {
	text := fmt.Sprint(cause)
	if _, runtime := cause.(runtime.Error); runtime || strings.Contains(text, "out of range") {
		text = "its parts contradict each other"
	}
	return fmt.Errorf("is corrupt: %s", text)
}

// checkFooter checks the structure of the metadata at the end of a file.
func checkFooter(file io.ReaderAt, size int64) error {
	var end [8]byte
	if size < 12 {
		return errors.New("is too short for a parquet file")
	}
	if _, err := file.ReadAt(end[:], size-8); err != nil {
		return err
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != "PAR1" || length > size-12 {
		return errors.New("is not a complete parquet file")
	}
	footer := make([]byte, length)
	if _, err := file.ReadAt(footer, size-8-length); err != nil {
		return err
	}
	if _, ok := skipThrift(footer, 0, thriftStruct, 0); !ok {
		return errors.New("has corrupt metadata")
	}
	return nil
}

// CheckPages checks the pages of a column chunk: their places, and the values and bytes that
// they claim.
func CheckPages(file io.ReaderAt, size int64, chunk *format.ColumnMetaData) error {
	if chunk.Codec == format.Lz4Raw || chunk.Codec == format.Lz4 { // the library decodes corrupt pages without end
		return errors.New("is packed by LZ4: write the file with another compression, such as zstd")
	}
	corrupt := func(at int64) error { return fmt.Errorf("byte %d: has a corrupt page", at) }
	at := chunk.DataPageOffset
	if chunk.DictionaryPageOffset != 0 {
		at = chunk.DictionaryPageOffset
	}
	if at < 0 || chunk.TotalCompressedSize < 0 || at > size || chunk.TotalCompressedSize > size-at {
		return errors.New("has a column outside of the file")
	}
	end, values, first := at+chunk.TotalCompressedSize, int64(0), false
	for at < end && values < chunk.NumValues {
		first = first || at == chunk.DataPageOffset
		header, length := pageHeader(file, at, end)
		if header == nil {
			return corrupt(at)
		}
		next := at + length + int64(header.CompressedPageSize)
		count := header.DataPageHeader.V.NumValues + header.DataPageHeaderV2.V.NumValues
		most := max(packedFloor, packedMost*int64(header.CompressedPageSize))
		if header.CompressedPageSize < 0 || next > end || count < 0 ||
			int64(max(count, header.DictionaryPageHeader.V.NumValues, header.UncompressedPageSize)) > most {
			return corrupt(at)
		}
		encoding := header.DataPageHeader.V.Encoding
		if header.DataPageHeaderV2.Valid {
			encoding = header.DataPageHeaderV2.V.Encoding
		}
		if chunk.Type == format.Boolean && count > 0 && encoding != format.Plain { // the library decodes others wrongly
			return fmt.Errorf(
				"has truth values with the encoding %v: write them as integers, or with data pages of version 1",
				encoding)
		}
		values += int64(count)
		at = next
	}
	if values != chunk.NumValues || !first {
		return fmt.Errorf("has a column with %d values, its metadata says %d", values, chunk.NumValues)
	}
	return nil
}

// pageHeader returns the header of a page, and its length. It is nil if it is corrupt.
func pageHeader(file io.ReaderAt, at, end int64) (*format.PageHeader, int64) {
	for _, most := range []int64{1 << 9, maxPageHeader} {
		head := make([]byte, min(most, end-at))
		if n, err := file.ReadAt(head, at); n < len(head) && err != nil {
			return nil, 0
		}
		length, ok := skipThrift(head, 0, thriftStruct, 0)
		if !ok {
			continue
		}
		var protocol thrift.CompactProtocol
		header := new(format.PageHeader)
		if thrift.NewDecoder(protocol.NewReaderFromBytes(head[:length])).Decode(header) != nil {
			return nil, 0
		}
		return header, int64(length)
	}
	return nil, 0
}

// Types of values in the compact protocol of Apache Thrift.
const (
	thriftByte   = 3
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
	thriftUUID   = 13
)

// skipThrift returns the index behind a value of a type at an index. ok is false if the value
// is not complete.
func skipThrift(b []byte, at int, kind byte, depth int) (end int, ok bool) {
	if depth > 32 || at > len(b) {
		return 0, false
	}
	switch kind {
	case 1, 2, thriftByte: // the truth values of a list
		return at + 1, at < len(b)
	case 4, 5, 6:
		_, n := binary.Uvarint(b[at:])
		return at + n, n > 0
	case thriftDouble, thriftUUID:
		at += map[byte]int{thriftDouble: 8, thriftUUID: 16}[kind]
		return at, at <= len(b)
	case thriftBinary:
		length, n := binary.Uvarint(b[at:])
		if n <= 0 || length > uint64(len(b)-at-n) {
			return 0, false
		}
		return at + n + int(length), true
	case thriftList, thriftSet:
		if at == len(b) {
			return 0, false
		}
		element, count := b[at]&0xf, uint64(b[at]>>4)
		at++
		if count == 15 {
			n := 0
			if count, n = binary.Uvarint(b[at:]); n <= 0 {
				return 0, false
			}
			at += n
		}
		if count > uint64(len(b)-at) { // each takes a byte
			return 0, false
		}
		for range count {
			if at, ok = skipThrift(b, at, element, depth+1); !ok {
				return 0, false
			}
		}
		return at, true
	case thriftStruct:
		return skipThriftStruct(b, at, depth)
	default: // no format of parquet has maps
		return 0, false
	}
}

func skipThriftStruct(b []byte, at int, depth int) (end int, ok bool) {
	for at < len(b) {
		field := b[at]
		at++
		if field == 0 {
			return at, true
		}
		if field>>4 == 0 { // the number of the field follows
			_, n := binary.Uvarint(b[at:])
			if n <= 0 {
				return 0, false
			}
			at += n
		}
		if kind := field & 0xf; kind > 2 { // truth values are in the type
			if at, ok = skipThrift(b, at, kind, depth+1); !ok {
				return 0, false
			}
		}
	}
	return 0, false
}
