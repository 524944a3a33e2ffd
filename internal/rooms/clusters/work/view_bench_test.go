package work

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fedsim/experiment"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/tools/expect"
)

// The state of 5,000 groups: 4,000 are done, 64 run, 500 were stopped, 36 have failed.
func BenchmarkState(b *testing.B) {
	d := &Dir{Plan: &plan.Plan{Name: "x"}, path: b.TempDir()}
	file := func(path string, c *Claim) {
		expect.NoError(b, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), c.write(path)))
	}
	for i := range 5000 {
		id := fmt.Sprintf("%016x", i)
		d.Plan.Items = append(d.Plan.Items, plan.Item{ID: id, Kind: experiment.KindRuns, Of: []string{"run " + id}})
		switch {
		case i < 4000:
			file(d.claimPath(id), &Claim{Worker: "w", TookS: 1, Ended: true})
			expect.NoError(b, os.MkdirAll(d.DoneDir(id), 0o777))
		case i < 4064:
			file(d.claimPath(id), &Claim{Worker: id, Host: "h", Process: ThisProcess()})
		case i < 4564:
			file(d.claimPath(id), &Claim{Worker: "w", Ended: true})
		case i < 4600:
			file(d.claimPath(id), &Claim{Worker: "w", Ended: true, Failure: "x"})
		}
	}
	v := d.View(time.Now)
	for b.Loop() {
		s := expect.Value(v.State())(b)
		want := (Counts{Total: 5000, Done: 4000, Running: 64, Stopped: 500, Failed: 36, Waiting: 400})
		expect.Must(b, s.Groups == want, "%+v", s.Groups)
	}
}
