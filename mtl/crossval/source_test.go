package crossval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/data"
	"fedsim/mtl"
)

func TestLocate(t *testing.T) {
	here, folder := t.TempDir(), t.TempDir()
	t.Chdir(here)
	for _, path := range []string{filepath.Join(here, "here.zip"), filepath.Join(here, "both.zip"), filepath.Join(folder, "both.zip"), filepath.Join(folder, "there.zip")} {
		if err := os.WriteFile(path, []byte("not a zip"), 0o666); err != nil {
			t.Fatal(err)
		}
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
		standIn                  bool
	}{
		{"here.zip", folder, "here.zip", "uci-har here.zip", false},
		{"both.zip", folder, "both.zip", "uci-har both.zip", false},
		{"there.zip", folder, filepath.Join(folder, "there.zip"), "uci-har there.zip", false},
		{"there.zip", "", "", "generated, with the sizes of human-activity, in place of uci-har there.zip, which was not found", true},
		{"/none/x.zip", folder, "", "generated, with the sizes of human-activity, in place of uci-har /none/x.zip, which was not found", true},
	} {
		set := file(test.path)
		got, err := set.Locate(test.folder)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		if got.Config.Path != test.want || got.Text != test.text || got.Generated != test.standIn {
			t.Errorf("%s: %+v, want %+v", test.path, got, test)
		}
	}

	lone := file("there.zip")
	lone.Fallback = nil
	const want = `data set "ha": there is no there.zip beside the scenario, in the working directory or in the folder that FEDSIM_DATA names`
	if _, err := lone.Locate(""); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	set := Set{Label: "g", Data: generated}
	if got, err := set.Locate(folder); err != nil || !got.Generated || got.Text != "generated, with the sizes of human-activity" {
		t.Errorf("generated set: %+v, %v", got, err)
	}

	// A file that is there but cannot be read is no reason to generate another.
	broken := file("here.zip")
	table := Table{Name: "t", Config: Defaults(), Sets: []Set{broken}}
	if _, err := table.Run(t.Context(), mtl.Defaults(), Options{Workers: 1}); err == nil || !strings.Contains(err.Error(), "here.zip") {
		t.Errorf("a broken file: error %v, want one that names it", err)
	}
}
