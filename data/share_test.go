package data

import (
	"sort"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

func TestShareDealsEveryRowOutOnce(t *testing.T) {
	cfg := Defaults()
	set := loaded(t, cfg)
	const devices = 3
	shared := expect.Value(Share(set, devices, 7))(t)
	if len(shared.Clients) != devices*len(set.Clients) || shared.Features != set.Features {
		t.Fatalf("%d devices of %d features, want %d of %d", len(shared.Clients), shared.Features,
			devices*len(set.Clients), set.Features)
	}
	for task := range set.Clients {
		var got, want []float64
		for i := range set.Clients[task].X.Rows {
			want = append(want, set.Clients[task].X.Row(i)[0])
		}
		for k := range devices {
			device := devices*task + k
			expect.That(t, shared.TaskOf(device) == task,
				"device %d belongs to task %d, want %d", device, shared.TaskOf(device), task)
			x := &shared.Clients[device].X
			if n := set.Clients[task].X.Rows; x.Rows < n/devices || x.Rows > n/devices+1 {
				t.Errorf("device %d holds %d of %d rows", device, x.Rows, n)
			}
			for i := range x.Rows {
				got = append(got, x.Row(i)[0])
			}
		}
		sort.Float64s(got)
		sort.Float64s(want)
		for i := range want {
			expect.Must(t, got[i] == want[i], "task %d: the rows dealt out are not the task's", task)
		}
	}
	if _, err := Share(set, set.Clients[0].X.Rows+1, 7); err == nil {
		t.Error("a task was shared by more devices than it has rows")
	}
}

// A number of devices beyond the rows of a task is an error before anything is made for them.
func TestShareByTooManyDevices(t *testing.T) {
	cfg := Defaults()
	cfg.ClientsPerTask = 1 << 60
	_, err := Prepare(cfg)
	expect.That(t, err != nil && strings.Contains(err.Error(), "cannot be shared by"), "%v", err)
}
