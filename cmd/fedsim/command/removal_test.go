package command

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/internal/tools/filetest"
)

var allRooms = flag.Bool("rooms", false, "TestRoomsCanBeLeftOut leaves out every room, one after the other")

// removable is a room that can be left out.
type removable struct {
	folders []string // under internal/rooms; "/" at the beginning: under the root
	files   []string // its own in other folders; without a folder: in that of commands
	with    []string // rooms that stand on it and go with it
}

var removables = map[string]removable{
	"carbon": {folders: []string{"carbon"}},
	"clusters": {folders: []string{"clusters/plan", "clusters/submit", "clusters/work"},
		files: []string{"merge.go", "plan.go", "planstate.go", "settleplan.go", "submit.go", "work.go",
			"internal/rooms/report/plan.go", "internal/rooms/report/serve/plan.go"}},
	"compare":         {folders: []string{"compare"}, files: []string{"compare.go"}},
	"compress":        {folders: []string{"compress"}},
	"electricitymaps": {files: []string{"internal/rooms/traces/electricitymaps.go"}},
	"explain":         {folders: []string{"explain"}, files: []string{"explain.go"}, with: []string{"report"}},
	"fairness":        {folders: []string{"fairness"}, files: []string{"internal/rooms/report/left.go"}},
	"learnercheck":    {folders: []string{"outside/learnercheck"}, files: []string{"learner.go"}},
	"measure": {folders: []string{"measure"},
		files: []string{"calibrate.go", "replay.go", "whatif.go", "internal/rooms/report/calibration.go"}},
	"outside/external": {folders: []string{"outside/external", "outside/learnercheck"},
		files: []string{"learner.go"}},
	"privacy": {folders: []string{"privacy"}},
	"ranking": {folders: []string{"ranking"}, files: []string{"experiment/into/ranks.go"}},
	"report":  {folders: []string{"report"}, files: []string{"report.go", "serve.go"}, with: []string{"measure"}},
	"session": {folders: []string{"outside/driven", "/federation/session"},
		files: []string{"engine.go", "experiment/driven.go"}, with: []string{"measure"}},
	"settle": {folders: []string{"settle"}, files: []string{"settle.go", "settleplan.go", "experiment/into/settle.go"}},
	"theory": {folders: []string{"theory"},
		files: []string{"theory.go", "theoryseconds.go", "theorytwin.go", "theoryoptimize.go", "experiment/theory.go",
			"experiment/seconds.go", "experiment/twin.go", "experiment/forms.go"}},
	"timeline": {folders: []string{"timeline"}, files: []string{"timeline.go"}},
	"verify":   {folders: []string{"verify"}, files: []string{"verify.go"}},
}

// needed are the rooms that others need, and why they are not left out.
var needed = map[string]string{
	"fit":        "runs and their settings are checked with it",
	"ledger":     "rows by device are its accounts",
	"newclients": "the driver of methods starts each method with it",
	"replay":     "checkpoints and shared rounds",
	"traces":     "settings have the table [traces]",
	"upkeep":     "runs count with it what methods take beside their steps",
}

// Each folder of internal/rooms can be left out, or is needed.
func TestEveryRoomIsListed(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "internal/rooms"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		_, always := needed[e.Name()]
		listed := slices.ContainsFunc(slices.Collect(maps.Values(removables)), func(r removable) bool {
			return slices.ContainsFunc(r.folders, func(f string) bool {
				return f == e.Name() || strings.HasPrefix(f, e.Name()+"/")
			})
		})
		if e.IsDir() && !always && !listed {
			t.Errorf("internal/rooms/%s: add it to removables, or say in needed why it cannot be left out", e.Name())
		}
	}
}

// leave adds the files of a room to those that are not there.
func (r *removable) leave(t *testing.T, gone map[string]string) {
	leave := func(path string) {
		path, err := filepath.Abs(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		gone[path] = ""
	}
	for _, folder := range r.folders {
		folder, below := strings.CutPrefix(folder, "/")
		if !below {
			folder = "internal/rooms/" + folder
		}
		found := 0
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") {
				leave(strings.TrimPrefix(path, root))
				found++
			}
			return err
		})
		if err != nil || found == 0 {
			t.Fatalf("no folder %s: %v", folder, err)
		}
	}
	for _, file := range r.files {
		if !strings.Contains(file, "/") {
			file = "cmd/fedsim/command/" + file
		}
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Fatal(err)
		}
		leave(file)
	}
	for _, other := range r.with {
		other := removables[other]
		other.leave(t, gone)
	}
}

// The program builds and runs without a room: its folders, its own files elsewhere, and its line in the list of
// rooms. Each day has two other rooms, in the order of their names.
func TestRoomsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds fedsim without a room")
	}
	today := slices.Sorted(maps.Keys(removables))
	if !*allRooms {
		at := 2 * time.Now().YearDay() % len(today)
		today = []string{today[at], today[(at+1)%len(today)]}
	}
	for _, name := range today {
		t.Run(name, func(t *testing.T) {
			x, dir, replace := removables[name], t.TempDir(), map[string]string{}
			x.leave(t, replace)
			if list, entry := read(t, roomList),
				"	_ \"fedsim/internal/rooms/"+name+"\"\n"; strings.Contains(list, entry) {
				path, err := filepath.Abs(filepath.Join(root, roomList))
				if err != nil {
					t.Fatal(err)
				}
				replace[path] = filepath.Join(dir, "rooms.go")
				filetest.Write(t, replace[path], strings.Replace(list, entry, "", 1))
			}
			program, err := buildReplaced(dir, replace)
			if err != nil {
				t.Fatal(err)
			}
			run := exec.Command(program, "run", "deadline", "--set", "run.rounds=3", "--out",
				filepath.Join(dir, "run"), "--quiet")
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// buildReplaced builds fedsim into a folder with some files replaced by others; "": by none.
func buildReplaced(dir string, replace map[string]string) (program string, err error) {
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "fedsim")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-overlay", file, "-ldflags", "-s -w", "-o", program, "./cmd/fedsim")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
}

// Every room of the list of rooms can be left out, or is needed.
func TestRemovableRoomsAreComplete(t *testing.T) {
	for line := range strings.SplitSeq(read(t, roomList), "\n") {
		name, ok := strings.CutPrefix(strings.Trim(line, "\t _\""), "fedsim/internal/rooms/")
		_, can := removables[name]
		if _, always := needed[name]; ok && !can && !always {
			t.Errorf("TestRoomsCanBeLeftOut does not leave out %s", name)
		}
	}
}
