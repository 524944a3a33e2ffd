package data

import (
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Pooling changes only the task of the rows, in both halves of the split. It comes after
// the sharing of tasks among devices.
func TestPoolPutsAllDevicesIntoOneTask(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	for _, devices := range []int{1, 2} {
		cfg := Defaults()
		cfg.ClientsPerTask, cfg.Bias, cfg.Standardize = devices, true, true
		apart := prepared(t, cfg)
		cfg.Pool = true
		pooled := prepared(t, cfg)
		n := len(pooled.Train.Clients)
		expect.That(t, n == 20*devices, "%d devices, want %d: 20 tasks shared by %d each", n, 20*devices, devices)
		n = len(pooled.Test.Clients)
		expect.That(t, n == 20, "%d test sets, want one for each of the 20 tasks there were", n)
		for name, pair := range map[string][2]*Set{"training": {pooled.Train, apart.Train},
			"test": {pooled.Test, apart.Test}} {
			got, want := pair[0], pair[1]
			expect.Must(t, len(got.Owner) == len(got.Clients),
				"%s: %d owners of %d elements", name, len(got.Owner), len(got.Clients))
			for k := range got.Clients {
				expect.That(t, got.TaskOf(k) == 0, "%s: element %d belongs to task %d, want 0", name, k, got.TaskOf(k))
			}
			same := *got
			same.Owner = want.Owner
			diff := cmp.Diff(*want, same, cmpopts.IgnoreUnexported(Set{}, Client{}))
			expect.That(t, diff == "", "%s: pooling changes more than the owners (-apart +pooled):\n%s", name, diff)
		}
	}
}
