package data

import (
	"testing"

	"fedsim/internal/tools/filetest"
)

// The counts are those of the archive: 7415 + 2996 rows in train and test.
func TestRealHAR(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the whole set, as TestReadHARLayouts reads a small one")
	}
	set, err := readOneActivity(filetest.Real(t, "har.zip"), "SITTING")
	if err != nil {
		t.Fatal(err)
	}
	d := Describe(set)
	if d.Tasks != 30 || d.Features != 561 || d.Rows != 10411 {
		t.Errorf("m = %d, d = %d, rows = %d, want 30, 561, 10411", d.Tasks, d.Features, d.Rows)
	}
	// wc of subject_*.txt: subject 8 has 284 rows, 21 and 25 have 413.
	if d.RowsMin != 284 || d.RowsMax != 413 {
		t.Errorf("task sizes %d to %d, want 284 to 413", d.RowsMin, d.RowsMax)
	}
	// 1293 + 508 rows of y_*.txt are 4, SITTING.
	if want := 1801.0 / 10411; d.PositiveShare != want {
		t.Errorf("positive share %v, want %v", d.PositiveShare, want)
	}
	if d.OneClassTasks != 0 {
		t.Errorf("%d tasks of one class, want none", d.OneClassTasks)
	}
	// The first row of train/X_train.txt is subject 1's.
	if x := set.Clients[0].X.Row(0); set.Clients[0].Name != "1" || x[0] != 1.3967866e-02 || x[3] != -9.9796604e-01 {
		t.Errorf("task %s begins with %v", set.Clients[0].Name, x[:4])
	}
	t.Logf("\n%v", d)
}

// Tasks 6 and 8 of the authors' example set have no positive row.
func TestRealLandmine(t *testing.T) {
	cfg := Defaults()
	cfg.Source, cfg.Path, cfg.ClientColumn = SourceCSV, filetest.Real(t, "landmine.csv"), "task"
	set := loaded(t, cfg)
	d := Describe(set)
	if d.Tasks != 29 || d.Features != 9 || d.Rows != 1464 || d.OneClassTasks != 2 {
		t.Errorf("m = %d, d = %d, rows = %d, %d tasks of one class, want 29, 9, 1464, 2", d.Tasks, d.Features, d.Rows, d.OneClassTasks)
	}
	if set.Name != "landmine" || set.Clients[28].Name != "29" {
		t.Errorf("set %q, last task %q", set.Name, set.Clients[28].Name)
	}
	t.Logf("\n%v", d)
}

func BenchmarkReadHAR(b *testing.B) {
	path := filetest.Real(b, "har.zip")
	for b.Loop() {
		if _, err := readOneActivity(path, "SITTING"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, name := range presetNames() {
		b.Run(name, func(b *testing.B) {
			cfg := Defaults()
			cfg.Preset = name
			for b.Loop() {
				generate(cfg)
			}
		})
	}
}
