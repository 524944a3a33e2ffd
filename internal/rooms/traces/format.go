package traces

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"fedsim/internal/tools/input"
)

// The names of the formats on the command line.
const (
	FormatCSV             = "csv"
	FormatFedScale        = "fedscale"
	FormatFLASH           = "flash"
	FormatElectricityMaps = "electricity-maps"
)

// Formats returns the names of the formats.
func Formats() []string {
	return []string{FormatCSV, FormatFedScale, FormatFLASH, FormatElectricityMaps}
}

// maxFile is the size limit of a trace file in bytes; all formats stream.
const maxFile = 1 << 36

// Open returns the devices of the file at path. Every loop over them opens the file
// again. For [FormatAuto] it detects the format from the first bytes. The options are
// for FLASH's files only.
func Open(path, format string, o FLASHOptions) Sequence {
	return func(yield func(*Trace, error) bool) {
		file, err := input.Open(path, maxFile)
		if err != nil {
			yield(nil, fmt.Errorf("read traces: %w", err))
			return
		}
		stopped := false
		for r, err := range read(file, path, format, o) {
			if !yield(r, err) {
				stopped = true
				break
			}
		}
		if err := file.Close(); err != nil && !stopped {
			yield(nil, fmt.Errorf("read traces: %w", err))
		}
	}
}

// Detect returns the format of the file at path; empty if it is unknown or the file cannot be read.
func Detect(path string) string {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return ""
	}
	defer file.Close()
	return detect(bufio.NewReader(file))
}

// loadFile packs the traces of the file at path into a set. It reads FLASH's files with the
// options of FLASH itself.
func loadFile(path, format string) (*Set, error) {
	s, err := Collect(Open(path, format, FLASHDefaults()))
	if _, placed := errors.AsType[*ParseError](err); err != nil && !placed && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, err
}

// read returns the devices in r. For [FormatAuto] it detects the format from the first
// bytes. name is for messages.
func read(r io.Reader, name, format string, o FLASHOptions) Sequence {
	in := bufio.NewReaderSize(r, 1<<16)
	if format == FormatAuto {
		format = detect(in)
	}
	switch format {
	case FormatCSV:
		return CSV(in, name)
	case FormatFedScale:
		return FedScale(in, name)
	case FormatFLASH:
		return FLASH(in, name, o)
	case FormatElectricityMaps:
		return ElectricityMaps(in, name)
	default:
		return func(yield func(*Trace, error) bool) {
			if _, err := plain(in, name); err != nil {
				yield(nil, err)
				return
			}
			yield(nil, &ParseError{File: name, Offset: 0, Problem: "is not a trace: must be a csv with the header " + csvHeader + ", a pickle of FedScale, a JSON file of FLASH or a csv of Electricity Maps"})
		}
	}
}

// plain returns a reader of text, see input.Plain. Its buffer holds a line.
func plain(r io.Reader, name string) (*bufio.Reader, error) {
	in, err := input.NewText(r)
	if err != nil {
		return nil, &ParseError{File: name, Offset: -1, Problem: err.Error()}
	}
	return in, nil
}

// detect returns the format of the input, "" if unknown. It ignores errors of the input,
// which the format's reader finds again.
func detect(in *bufio.Reader) string {
	head, _ := in.Peek(512)
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(head) == 0 || bytes.HasPrefix(trimmed, []byte("device")):
		return FormatCSV
	case bytes.HasPrefix(trimmed, []byte(mapsTime)):
		return FormatElectricityMaps
	case head[0] == opProto || head[0] == opMark || head[0] == opEmptyDict:
		return FormatFedScale
	case len(trimmed) > 0 && trimmed[0] == '{':
		return FormatFLASH
	default:
		return ""
	}
}
