package formats

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
)

// imageFolder returns a folder of IDX files with so many training and test images of 28 x 28 bytes, of
// ten classes.
func imageFolder(t *testing.T, train, test int) string {
	t.Helper()
	files := map[string][]byte{}
	for name, rows := range map[string]int{"train": train, "t10k": test} {
		pixels, labels := make([]byte, rows*784), make([]byte, rows)
		for i := range pixels {
			pixels[i] = byte(i * i >> 3)
		}
		for i := range labels {
			labels[i] = byte(i % 10)
		}
		files[name+"-images-idx3-ubyte"] = idxBytes(8, []int{rows, 28, 28}, pixels)
		files[name+"-labels-idx1-ubyte"] = idxBytes(8, []int{rows}, labels)
	}
	return filetest.Folder(t, files)
}

// Rows that are read, divided among clients, split and prepared have the bits of rows that each of these
// steps copies, and are allocated once, beside the bytes of the file.
func TestRowsAreCopiedOnce(t *testing.T) {
	racetest.Skip(t, "measures memory of one goroutine")
	const rows = 3000
	path := imageFolder(t, rows-500, 500)
	for c, change := range []func(*data.Config){
		func(*data.Config) {},
		func(cfg *data.Config) { cfg.Precision = data.PrecisionSingle },
		func(cfg *data.Config) { cfg.Standardize, cfg.Validation, cfg.Bias = true, 0.2, false },
		func(cfg *data.Config) {
			cfg.Standardize, cfg.Precision, cfg.TestRows = true, data.PrecisionSingle, data.TestRowsRandom
		},
	} {
		cfg := data.Defaults()
		cfg.Source, cfg.Path, cfg.Target, cfg.Pool = data.SourceIDX, path, data.TargetClasses, true
		cfg.Partition.Method, cfg.Partition.Clients = data.PartitionShards, 10
		change(&cfg)
		set, err := data.Load(cfg)
		expect.NoError(t, err)
		want, err := cfg.Divide(set, cfg.SplitSeed())
		expect.NoError(t, err)
		expect.NoError(t, cfg.Transform(want))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := data.Prepare(cfg)
		runtime.ReadMemStats(&after)
		expect.NoError(t, err)
		expect.That(t, got.Digest() == want.Digest() && got.Train.Clients[3].Name == "4", "case %d: other rows", c)
		runtime.ReadMemStats(&before)
		late, err := data.Defer(cfg)
		runtime.ReadMemStats(&after)
		expect.NoError(t, err)
		if most := uint64(rows*784 + 2<<20); cfg.Precision == data.PrecisionDouble &&
			after.TotalAlloc-before.TotalAlloc > most {
			t.Errorf("case %d: %d bytes are allocated for rows that are prepared later", c,
				after.TotalAlloc-before.TotalAlloc)
		}
		if late.Train.Resident() || late.Train.Clients[0].X.Bytes() > 0 || late.Digest() != got.Digest() ||
			late.Train.Features != got.Train.Features {
			t.Errorf("case %d: rows that are prepared later are others", c)
		}
		if err := late.Learnable(cfg); err != nil {
			t.Errorf("case %d: rows that are prepared later: %v", c, err)
		}
		bytes := 0
		for _, part := range got.Parts() {
			for k := range part.Clients {
				bytes += part.Clients[k].X.Bytes()
			}
		}
		if most := bytes + rows*784 + 2<<20; after.TotalAlloc-before.TotalAlloc > uint64(most) {
			t.Errorf("case %d: %d bytes are allocated for %d of rows and %d of their file", c,
				after.TotalAlloc-before.TotalAlloc, bytes, rows*784)
		}
	}
}

// Training and test images may be of other types of numbers.
func TestReadIDXOfTwoTypes(t *testing.T) {
	folder := filetest.Folder(t, smallIDX())
	test := idxBytes(14, []int{1, 2, 2}, []float64{0.25, -1, 3, 7})
	expect.NoError(t, os.WriteFile(filepath.Join(folder, "t10k-images.idx3-ubyte"), test, 0o600))
	set := expect.Value(gathered(readIDX(data.Config{}, folder)))(t)
	if x := &set.Clients[0].X; x.Row(0)[2] != 0.2 || x.Row(x.Rows - 1)[0] != 0.25 || x.Row(x.Rows - 1)[3] != 7 {
		t.Errorf("rows %v and %v", x.Row(0), x.Row(x.Rows-1))
	}
}
