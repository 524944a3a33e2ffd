package traces

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"fedsim/engine"
)

// WriteCSV writes a sequence in the format that [CSV] reads. It writes only change
// points. Times and values have the shortest form that reads back as the same number. It
// fails like [Collect].
func WriteCSV(w io.Writer, seq Sequence) error {
	out := bufio.NewWriterSize(w, 1<<16)
	if _, err := out.WriteString(csvHeader + "\n"); err != nil {
		return fmt.Errorf("write traces: %w", err)
	}
	var row []byte
	_, err := eachOf(seq, func(r *Trace) (err error) {
		if row, err = writeDevice(out, r, row); err != nil {
			err = fmt.Errorf("write traces: %w", err)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write traces: %w", err)
	}
	return nil
}

// writeDevice merges the kinds of a device in order of time.
func writeDevice(out *bufio.Writer, r *Trace, row []byte) ([]byte, error) {
	var next [kinds]int
	for {
		kind, at := kinds, r.Span
		for k, steps := range r.Steps {
			for next[k] > 0 && next[k] < len(steps) && steps[next[k]].Value == steps[next[k]-1].Value {
				next[k]++
			}
			if next[k] < len(steps) && steps[next[k]].At < at {
				kind, at = Kind(k), steps[next[k]].At
			}
		}
		row = append(append(row[:0], r.Name...), ',')
		row = append(formatTime(row, at), ',')
		if kind == kinds {
			row = append(row, csvEnd+",\n"...)
			_, err := out.Write(row)
			return row, err
		}
		row = append(append(row, kindNames[kind]...), ',')
		row = append(strconv.AppendFloat(row, r.Steps[kind][next[kind]].Value, 'g', -1, 64), '\n')
		if _, err := out.Write(row); err != nil {
			return row, err
		}
		next[kind]++
	}
}

// formatTime appends an instant in seconds, exactly.
func formatTime(to []byte, at engine.Time) []byte {
	const second = 1e9
	to = strconv.AppendInt(to, int64(at)/second, 10)
	if rest := int64(at) % second; rest != 0 {
		decimals := strconv.FormatInt(second+rest, 10)[1:]
		to = append(append(to, '.'), strings.TrimRight(decimals, "0")...)
	}
	return to
}
