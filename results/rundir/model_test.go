package rundir

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"hash/fnv"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/npy"
	"fedsim/results"
)

// The bytes of a matrix of 2 x 3, by the specification of NumPy's format, version 1.0.
func TestNpyIsAsSpecified(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	m := [][]float64{{1, -0.5, math.Copysign(0, -1)}, {math.SmallestNonzeroFloat64, 1e300, 3}}
	if err := begin(t, w, 7, syntheticRuns()[0]).Model(2, 3, func(task int) []float64 { return m[task] }); err != nil {
		t.Fatal(err)
	}
	got := filetest.Read(t, filepath.Join(w.stage(), "models", "000007.npy"))
	header := "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"
	want := append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0}, header...)
	for len(want) < 127 { // the numbers begin at a multiple of 64
		want = append(want, ' ')
	}
	want = append(want, '\n')
	for _, row := range m {
		for _, x := range row {
			want = binary.LittleEndian.AppendUint64(want, math.Float64bits(x))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, size := range [][2]int{{1, 1}, {123_456_789, 1}, {1 << 40, 1 << 40}} {
		if head := npy.Head(size[0], size[1]); len(head)%64 != 0 ||
			int(binary.LittleEndian.Uint16(head[8:])) != len(head)-10 || head[len(head)-1] != '\n' {
			t.Errorf("%v: %q", size, head)
		}
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
}

// modelOf makes the weights of a run, and their hash.
func modelOf(run *results.Run) (weights func(task int) []float64, hash uint64) {
	weights = func(task int) []float64 {
		return []float64{float64(run.Seed) + 0.1, float64(task) / 3, math.Copysign(0, -1)}
	}
	h := fnv.New64a()
	for task := range 4 {
		for _, x := range weights(task) {
			_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
		}
	}
	return weights, h.Sum64()
}

// addModel adds a run with its model.
func addModel(t *testing.T, w *Writer, place int, run results.Run) {
	t.Helper()
	weights, hash := modelOf(&run)
	run.ModelHash = hash
	if err := errors.Join(begin(t, w, place, run).Model(4, 3, weights), add(w, place, run)); err != nil {
		t.Fatal(err)
	}
}

func TestModelsAreExported(t *testing.T) {
	t.Parallel()
	runs := syntheticRuns()[:3]
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	for i, run := range runs {
		addModel(t, w, i, run)
	}
	finish(t, w, Complete)
	weights, _ := modelOf(&runs[1])
	var text, numbers bytes.Buffer
	if err := errors.Join(ExportModel(&text, w.Dir(), runs[1].ID, "csv"),
		ExportModel(&numbers, w.Dir(), runs[1].ID, "npy")); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(rows) != 5 || !cmp.Equal(rows[0], []string{"task", "w0", "w1", "w2"}) {
		t.Fatalf("%v, %v", rows, err)
	}
	for task, row := range rows[1:] {
		for i, want := range weights(task) {
			got, err := strconv.ParseFloat(row[1+i], 64)
			if row[0] != strconv.Itoa(task) || err != nil || math.Float64bits(got) != math.Float64bits(want) {
				t.Errorf("row %v, want %v", row, weights(task))
			}
		}
	}
	path := filepath.Join(w.Dir(), modelsDir, "000001.npy")
	stored, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(stored, numbers.Bytes()) {
		t.Errorf("npy is not the file: %v", err)
	}
	if err := ExportModel(io.Discard, w.Dir(), "", "csv"); err == nil || !strings.Contains(err.Error(), "3 runs") {
		t.Errorf("%v", err)
	}
	if err := ExportModel(io.Discard, w.Dir(), "missing", "csv"); !errors.Is(err, ErrNoModel) {
		t.Errorf("%v", err)
	}
	for at := range stored { // whatever bit is another
		spoilt := bytes.Clone(stored)
		spoilt[at] ^= 1 << (at % 8)
		filetest.Write(t, path, spoilt)
		if err := ExportModel(io.Discard, w.Dir(), runs[1].ID, "csv"); err == nil ||
			!strings.HasPrefix(err.Error(), path+": is corrupt: ") {
			t.Fatalf("flipped at %d: %v", at, err)
		}
	}
	// Another run without models leaves none.
	w = create(t, w.Dir(), true)
	addAll(t, w, runs[:1])
	finish(t, w, Complete)
	if err := ExportModel(io.Discard, w.Dir(), "", "csv"); !errors.Is(err, ErrNoModel) {
		t.Errorf("%v", err)
	}
	if exists(filepath.Join(w.Dir(), modelsDir)) {
		t.Error("the older models are still there")
	}
}

// An interrupted run has the models of its finished runs, and the resumed one has all of
// them in the end; one that was deleted is made again, and another is refused.
func TestModelsAreResumed(t *testing.T) {
	runs := syntheticRuns()[:3]
	began := func(dir string) *Writer {
		w := create(t, dir, true, resumable())
		addModel(t, w, 0, runs[0])
		addModel(t, w, 1, runs[1])
		return w
	}
	whole := began(filepath.Join(t.TempDir(), "whole"))
	addModel(t, whole, 2, runs[2])
	finish(t, whole, Complete)
	want := tree(t, whole.Dir())
	if want["models/000002.npy"] == "" {
		t.Fatal("there are no models")
	}

	dir := filepath.Join(t.TempDir(), "run")
	finish(t, began(dir), Incomplete)
	if err := ExportModel(io.Discard, dir, runs[1].ID, "csv"); err != nil {
		t.Errorf("of an interrupted run: %v", err)
	}
	stored := filepath.Join(dir, stageDir, modelsDir, "000001.npy")
	content := filetest.Read(t, stored)
	spoilt := bytes.Clone(content)
	spoilt[len(spoilt)-1] ^= 1
	filetest.Write(t, stored, spoilt)
	if _, err := resume(dir); err == nil || !strings.Contains(err.Error(), "is corrupt") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(stored); err != nil {
		t.Fatal(err)
	}
	w := resumed(t, dir)
	if left := w.Runs(); len(left) != 1 || left[0].ID != runs[0].ID {
		t.Fatalf("%d runs are left", len(left))
	}
	addModel(t, w, 1, runs[1])
	addModel(t, w, 2, runs[2])
	finish(t, w, Complete)
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// NumPy reads the file as the matrix.
func TestNumpyReadsModels(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("needs python3 with numpy")
	}
	run := syntheticRuns()[0]
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addModel(t, w, 0, run)
	finish(t, w, Complete)
	out, err := exec.Command(python, "-c", `import sys, numpy
w = numpy.load(sys.argv[1])
print(w.dtype, w.shape, " ".join(float(x).hex() for x in w.ravel()))`, filepath.Join(w.Dir(), modelsDir, "000000.npy")).
		Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(out))
	weights, _ := modelOf(&run)
	if len(got) != 3+12 || got[0] != "float64" || got[1]+got[2] != "(4,3)" {
		t.Fatalf("got %q", out)
	}
	for task := range 4 {
		for i, want := range weights(task) {
			x, err := strconv.ParseFloat(got[3+3*task+i], 64)
			if err != nil || math.Float64bits(x) != math.Float64bits(want) {
				t.Errorf("%s is not %g", got[3+3*task+i], want)
			}
		}
	}
}
