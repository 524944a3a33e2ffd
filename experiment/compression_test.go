package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// The bytes in rounds.csv are those of the formulas of docs/methods.md#compression: of 5 devices that
// send and get a model of 6 values a round, of 8 or 4 bytes, and a header of 64 bytes. Of sparse
// a value takes 3 bits more, and the zeros of the first model take nothing.
func TestBytesInRoundsFile(t *testing.T) {
	const devices, d, header = 5, 6, 64
	half := 2 * d
	none, sparse := [...]int{4: 4 * d, 8: 8 * d}, [...]int{4: (d*(32+3) + 7) / 8, 8: (d*(64+3) + 7) / 8}
	for _, c := range []struct {
		up, down           string
		value              int // bytes of a number
		first, later, sent int // payload of a message of the server in round 1 and later, and of a device
	}{
		{"none", "none", 8, none[8], none[8], none[8]},
		{"none", "float16", 4, half, half, none[4]},
		{"sparse", "none", 8, none[8], none[8], sparse[8]},
		{"none", "sparse", 8, 0, sparse[8], none[8]},
		{"sparse", "sparse", 4, 0, sparse[4], sparse[4]},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		mustStore(t, dir, "[methods.fedavg]\n", 1, "run.rounds=4", "problem.regularizer_options.warm_start=0",
			"problem.optimum.when=never",
			"compression.up="+c.up, "compression.down="+c.down, fmt.Sprint("network.wire.bytes_per_value=", c.value))
		table := filepath.Join(dir, "rounds.csv")
		filetest.Write(t, table, exported(t, dir, "rounds"))
		rows := filetest.Rows(t, table)
		expect.Must(t, len(rows) == 6, "%d lines", len(rows))
		down, up := slices.Index(rows[0], "bytes_down"), slices.Index(rows[0], "bytes_up")
		for h, row := range rows[1:] {
			each, sent := header+c.later, header+c.sent
			switch h {
			case 0: // before the first round
				each, sent = 0, 0
			case 1:
				each = header + c.first
			}
			if row[down] != fmt.Sprint(devices*each) || row[up] != fmt.Sprint(devices*sent) {
				t.Errorf("%s up, %s down, %d bytes a value, round %d: %s bytes down and %s up, want %d and %d",
					c.up, c.down, c.value, h, row[down], row[up], devices*each, devices*sent)
			}
		}
	}
}
