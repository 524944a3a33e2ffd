package command

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/internal/tools/filetest"
)

var allRooms = flag.Bool("rooms", false, "TestRoomsCanBeLeftOut leaves out every room, one after the other")

// removable is a room and what else goes with it.
type removable struct {
	room    string
	files   []string            // its own, beside its folder
	entries map[string][]string // in lists, by file
}

var removables = []removable{
	{"carbon", nil, map[string][]string{"internal/rooms/all/all.go": {
		"	\"fedsim/internal/rooms/carbon\"\n", "	carbon.Budget\n",
		"	Energy carbon.Config `toml:\"energy\" doc:\"grams of CO2 equivalent of devices, network and server (docs/energy.md)\"`\n",
	}}},
	{"compare", []string{"cmd/fedsim/command/compare.go"}, map[string][]string{"cmd/fedsim/command/command.go": {"newCompare(), "}}},
	{"measure", []string{"cmd/fedsim/command/calibrate.go", "cmd/fedsim/command/replay.go", "internal/rooms/report/calibration.go"},
		map[string][]string{"cmd/fedsim/command/command.go": {"newCalibrate(), newReplay(), "}}},
	{"theory", []string{"cmd/fedsim/command/theory.go", "cmd/fedsim/command/theoryseconds.go", "experiment/theory.go", "experiment/seconds.go"},
		map[string][]string{"cmd/fedsim/command/command.go": {"newTheory(line), "}}},
}

// The program builds without a room, its own files and its entries in lists. Each day has another room.
func TestRoomsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds fedsim without a room")
	}
	today := time.Now().YearDay() % len(removables)
	for i, x := range removables {
		if !*allRooms && i != today {
			continue
		}
		dir, replace := t.TempDir(), map[string]string{}
		place := func(name string) string {
			path, err := filepath.Abs(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
		err := filepath.WalkDir(place("internal/rooms/"+x.room), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") {
				replace[path] = "" // is not there
			}
			return err
		})
		if err != nil || len(replace) == 0 {
			t.Fatalf("no room %s: %v", x.room, err)
		}
		for _, name := range x.files {
			replace[place(name)] = ""
		}
		for list, entries := range x.entries {
			text := read(t, list)
			for _, entry := range entries {
				if strings.Count(text, entry) != 1 {
					t.Fatalf("%s does not have %q once", list, entry)
				}
				text = strings.Replace(text, entry, "", 1)
			}
			file := filepath.Join(dir, filepath.Base(list))
			filetest.Write(t, file, text)
			replace[place(list)] = file
		}
		overlay, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			t.Fatal(err)
		}
		filetest.Write(t, filepath.Join(dir, "overlay.json"), overlay)
		program := filepath.Join(dir, "fedsim")
		build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./cmd/fedsim")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("without %s: %v: %s", x.room, err, out)
			continue
		}
		run := exec.Command(program, "run", "sigma", "--out", filepath.Join(dir, "run"), "--quiet")
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("without %s: %v: %s", x.room, err, out)
		}
	}
}

// Every room of the list of rooms can be left out.
func TestRemovableRoomsAreComplete(t *testing.T) {
	for line := range strings.SplitSeq(read(t, "internal/rooms/all/all.go"), "\n") {
		name, ok := strings.CutPrefix(strings.Trim(line, "\t\""), "fedsim/internal/rooms/")
		if ok && !slices.ContainsFunc(removables, func(x removable) bool { return x.room == name }) {
			t.Errorf("TestRoomsCanBeLeftOut does not leave out %s", name)
		}
	}
}
