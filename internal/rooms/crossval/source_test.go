package crossval

import (
	"path/filepath"
	"strings"
	"testing"

	"fedsim/data"
	_ "fedsim/data/formats"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

func TestLocate(t *testing.T) {
	working, folder := t.TempDir(), t.TempDir()
	t.Chdir(working)
	for _, path := range []string{filepath.Join(working, "local.zip"), filepath.Join(working, "both.zip"), filepath.Join(folder, "both.zip"), filepath.Join(folder, "folder.zip")} {
		filetest.Write(t, path, "not a zip")
	}
	generated := data.Defaults()
	generated.Preset = "human-activity"
	file := func(path string) Set {
		cfg := data.Defaults()
		cfg.Source, cfg.Path = data.SourceHAR, path
		return Set{Label: "ha", Data: cfg, Fallback: &generated}
	}
	for _, test := range []struct {
		path, folder, want, text string
		fallback                 bool
	}{
		{"local.zip", folder, "local.zip", "uci-har local.zip", false},
		{"both.zip", folder, "both.zip", "uci-har both.zip", false},
		{"folder.zip", folder, filepath.Join(folder, "folder.zip"), "uci-har folder.zip", false},
		{"folder.zip", "", "", "generated, with the sizes of human-activity, in place of uci-har folder.zip, which was not found", true},
		{"/none/x.zip", folder, "", "generated, with the sizes of human-activity, in place of uci-har /none/x.zip, which was not found", true},
	} {
		set := file(test.path)
		got, err := set.Locate(test.folder)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		if got.Config.Path != test.want || got.Text != test.text || got.Generated != test.fallback {
			t.Errorf("%s: %+v, want %+v", test.path, got, test)
		}
	}

	lone := file("folder.zip")
	lone.Fallback = nil
	const want = `data set "ha": file folder.zip not found beside the scenario, in the working directory or in the folder FEDSIM_DATA`
	if _, err := lone.Locate(""); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	set := Set{Label: "g", Data: generated}
	if got, err := set.Locate(folder); err != nil || !got.Generated || got.Text != "generated, with the sizes of human-activity" {
		t.Errorf("generated set: %+v, %v", got, err)
	}

	// A file that exists but cannot be read is an error: no set is generated instead.
	broken := file("local.zip")
	table := TableSpec{Name: "t", Config: Defaults()}
	if _, err := NewTrial(&table, &broken, Source{Config: broken.Data}, mtl.Defaults(), nil); err == nil || !strings.Contains(err.Error(), "local.zip") {
		t.Errorf("unreadable file: error %v, want one that names it", err)
	}
}
