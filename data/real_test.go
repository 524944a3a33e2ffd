package data

import (
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// Tasks 6 and 8 of the authors' example set have no positive row.
func TestRealLandmine(t *testing.T) {
	cfg := Defaults()
	cfg.Source, cfg.Path, cfg.ClientColumn = SourceCSV, filetest.Real(t, "landmine.csv"), "task"
	set := loaded(t, cfg)
	d := Describe(set)
	if d.Tasks != 29 || d.Features != 9 || d.Rows != 1464 || d.OneClassTasks != 2 {
		t.Errorf("m = %d, d = %d, rows = %d, %d tasks of one class, want 29, 9, 1464, 2", d.Tasks, d.Features, d.Rows,
			d.OneClassTasks)
	}
	expect.That(t, set.Name == "landmine" && set.Clients[28].Name == "29",
		"set %q, last task %q", set.Name, set.Clients[28].Name)
	t.Logf("\n%v", d)
}

func BenchmarkGenerate(b *testing.B) {
	for _, name := range presets.Names() {
		b.Run(name, func(b *testing.B) {
			cfg := Defaults()
			cfg.Preset = name
			for b.Loop() {
				generate(cfg)
			}
		})
	}
}
