package data

import (
	"fmt"

	"fedsim/internal/tools/rng"
)

// Share divides the rows of every task among several devices, as evenly as possible and
// at random by the seed (paper, remark 4). The devices of task t are consecutive and
// named "task/1", "task/2", ...; Owner has their task. It fails for a task with fewer
// rows than devices. With one device per task it returns the set itself.
func Share(set *Set, devices int, seed uint64) (*Set, error) {
	if devices == 1 {
		return set, nil
	}
	shared := set.empty()
	shared.Clients = shared.Clients[:0]
	shared.Owner = nil
	for t := range set.Clients {
		task := &set.Clients[t]
		n := task.X.Rows
		if n < devices {
			return nil,
				fmt.Errorf("client %q of data set %q has %d training rows: they cannot be shared by %d clients",
					task.Name, set.Name, n, devices)
		}
		rows := permutation(n, seed, rng.Share, t)
		for k := range devices {
			part := task.pick(rows[n*k/devices : n*(k+1)/devices])
			part.Name = fmt.Sprintf("%s/%d", task.Name, k+1)
			shared.Clients = append(shared.Clients, part)
			shared.Owner = append(shared.Owner, t)
		}
	}
	shared.gather()
	return shared, nil
}
