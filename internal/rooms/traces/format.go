package traces

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fedsim/internal/tools/input"
)

// maxFile is the size limit of a trace file in bytes; all formats stream.
const maxFile = 1 << 36

// shippedFiles are the trace files that a program carries: those of shipped scenarios, which name them after a prefix.
//
//go:embed shipped/*.csv
var shippedFiles embed.FS

const shippedPrefix = "shipped:"

func shippedNames() string {
	entries, err := shippedFiles.ReadDir("shipped")
	if err != nil {
		panic(err) // an embedded folder can be read
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = shippedPrefix + strings.TrimSuffix(e.Name(), ".csv")
	}
	return strings.Join(names, ", ")
}

// Open returns the devices of the file at path. Every loop over them opens the file
// again. The first bytes tell its format. "shipped:NAME" is a file of the program.
func Open(path string) Sequence {
	if name, ok := strings.CutPrefix(path, shippedPrefix); ok {
		text, err := shippedFiles.ReadFile("shipped/" + name + ".csv")
		if err != nil {
			err = fmt.Errorf("read traces: %s: %w: fedsim has %s", path, os.ErrNotExist, shippedNames())
			return func(yield func(*Trace, error) bool) { yield(nil, err) }
		}
		return func(yield func(*Trace, error) bool) { read(bytes.NewReader(text), path)(yield) }
	}
	return func(yield func(*Trace, error) bool) {
		file, err := input.Open(path, maxFile)
		if err != nil {
			yield(nil, fmt.Errorf("read traces: %w", err))
			return
		}
		stopped := false
		for r, err := range read(file, path) {
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

// loadFile packs the traces of the file at path into a set.
func loadFile(path string) (*Set, error) {
	s, err := Collect(Open(path))
	if _, placed := errors.AsType[*input.ParseError](err); err != nil && !placed && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, err
}

// foreign are the formats of files of others: the file of each adds its own.
var foreign []format

type format struct {
	head string // how its files begin
	name string // "a csv of Electricity Maps"
	read func(r io.Reader, name string) Sequence
}

// read returns the devices in r, whose format the first bytes tell. name is for messages.
func read(r io.Reader, name string) Sequence {
	in := bufio.NewReaderSize(r, 1<<16)
	head, _ := in.Peek(512) // the reader finds an error again
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(head) == 0 || bytes.HasPrefix(trimmed, []byte("device")) {
		return CSV(in, name)
	}
	known := csvHeader
	for _, f := range foreign {
		if bytes.HasPrefix(trimmed, []byte(f.head)) {
			return f.read(in, name)
		}
		known += " or " + f.name
	}
	return func(yield func(*Trace, error) bool) {
		_, err := input.NewNamedText(in, name)
		if err == nil {
			err = &input.ParseError{File: name, Problem: "is not a trace: must be a csv with the header " + known +
				"; python -m pyfedsim.traces converts files of FedScale and FLASH"}
		}
		yield(nil, err)
	}
}
