package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedsim/config"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/rng"
)

// The random streams of a partition: (seed, Partition, a class or client, one of these).
// Draws for all rows have device -1.
const (
	dealRows   = iota // the order of all rows, or of those of a class
	dealShards        // the clients of shards
	dealShares        // a client's shares of the classes, and the classes of its rows
	dealRanks         // the ranks of clients
	dealHeld          // the order of the held rows of a class
)

// dealing assigns the rows of a task to clients.
type dealing struct {
	*PartitionConfig
	seed     uint64
	y, heldY []float64 // targets of training rows, and of the held ones after them
	names    []string  // of the classes; nil for real targets
	rows     [][]int32 // training rows by client
	held     [][]int32 // held rows by client
	// group has the class of each training row. For real targets it has the shard, or
	// 0 if there are none.
	group  []int32
	groups int
}

// newDealing returns the dealing of the only task of a set.
func newDealing(p *PartitionConfig, set *Set, seed uint64) *dealing {
	task := &set.Clients[0]
	n := len(task.Y) - task.Held
	d := &dealing{
		PartitionConfig: p, seed: seed, y: task.Y[:n], heldY: task.Y[n:],
		rows: make([][]int32, p.Clients), held: make([][]int32, p.Clients),
		group: make([]int32, n), groups: 1,
	}
	switch {
	case set.Real && p.Method == PartitionShards:
		d.groups = p.Clients * p.Shards
	case set.Real:
	case set.Classes == nil:
		d.names, d.groups = []string{"-1", "+1"}, 2
	default:
		d.names, d.groups = set.Classes, len(set.Classes)
	}
	for i, y := range d.y {
		d.group[i] = d.class(y)
	}
	return d
}

// class returns the number of the class of a label, or 0 for a real target.
func (d *dealing) class(y float64) int32 {
	switch {
	case d.names == nil || y < 0:
		return 0
	default:
		return int32(y)
	}
}

// deal assigns the training rows. The error has the key to change.
func (d *dealing) deal() *config.Problem {
	n, parts, key, value := len(d.y), int64(d.Clients), "clients", d.Clients
	if d.Method == PartitionShards {
		if parts *= int64(d.Shards); d.Clients <= n {
			key, value = "shards", d.Shards
		}
	}
	if parts > int64(n) {
		return &config.Problem{Key: "data.partition." + key, Value: value,
			Want: fmt.Sprintf("there are %d training rows for %d parts: reduce it", n, parts)}
	}
	switch d.Method {
	case PartitionIID:
		order := permutation(n, d.seed, rng.Partition, -1)
		for k := range d.rows {
			d.rows[k] = order[cut(n, k, d.Clients):cut(n, k+1, d.Clients):cut(n, k+1, d.Clients)]
		}
	case PartitionShards:
		d.dealShards()
	case PartitionDirichlet:
		d.dealDirichlet()
	case PartitionPowerLaw:
		return d.dealPowerLaw()
	}
	return nil
}

// cut returns where part number i of n rows begins, of parts whose sizes differ by at
// most one.
func cut(n, i, parts int) int { return int(int64(n) * int64(i) / int64(parts)) }

// dealShards sorts the rows by label, cuts them into equal shards, and gives every client
// the same number of shards at random: the "pathological non-IID partition" of McMahan et
// al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
// AISTATS 2017, section 3. Rows of equal labels are in random order.
func (d *dealing) dealShards() {
	order := permutation(len(d.y), d.seed, rng.Partition, -1)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.y[a], d.y[b]) })
	count := d.Clients * d.Shards
	shards := numbersTo(count)
	stream := rng.New(d.seed, rng.Partition, -1, dealShards)
	stream.Shuffle(shards)
	for i, s := range shards {
		part := order[cut(len(order), int(s), count):cut(len(order), int(s)+1, count)]
		d.rows[i/d.Shards] = append(d.rows[i/d.Shards], part...)
		if d.names == nil {
			for _, row := range part {
				d.group[row] = s
			}
		}
	}
}

// byGroup returns the training rows of each class in random order.
func (d *dealing) byGroup() [][]int32 {
	rows := make([][]int32, d.groups)
	for i, g := range d.group {
		rows[g] = append(rows[g], int32(i))
	}
	for g := range rows {
		stream := rng.New(d.seed, rng.Partition, g, dealRows)
		stream.Shuffle(rows[g])
	}
	return rows
}

// dealDirichlet gives all clients equally many rows. Client by client, it draws a
// distribution q ~ Dirichlet(alpha p) over the classes, p that of the whole set, and then
// the class of each row from q, without replacement: a class without rows left leaves q.
// Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for
// Federated Visual Classification", 2019, section 3.
func (d *dealing) dealDirichlet() {
	left := d.byGroup()
	n := len(d.y)
	shape, logs, weights := make([]float64, d.groups), make([]float64, d.groups), make([]float64, d.groups)
	for c := range left {
		shape[c] = float64(d.Alpha * float64(len(left[c])) / float64(n))
	}
	for k := range d.rows {
		stream := rng.New(d.seed, rng.Partition, k, dealShares)
		for c := range logs {
			if logs[c] = math.Inf(-1); shape[c] > 0 {
				logs[c] = logGamma(shape[c], &stream)
			}
		}
		total := remaining(left, logs, weights)
		for range cut(n, k+1, d.Clients) - cut(n, k, d.Clients) {
			c := pickClass(weights, float64(total*stream.Float64()))
			last := len(left[c]) - 1
			d.rows[k] = append(d.rows[k], left[c][last])
			if left[c] = left[c][:last]; last == 0 {
				total = remaining(left, logs, weights)
			}
		}
	}
}

// remaining sets the weights of classes with rows left, the largest to 1, and those of
// others to 0. It returns their sum. Logarithms keep shares that are tiny beside one of a
// class without rows.
func remaining(left [][]int32, logs, weights []float64) float64 {
	largest := math.Inf(-1)
	for c, rows := range left {
		if len(rows) > 0 {
			largest = max(largest, logs[c])
		}
	}
	total := 0.0
	for c, rows := range left {
		if weights[c] = 0; len(rows) > 0 {
			weights[c] = elementary.Exp(logs[c] - largest)
			total += weights[c]
		}
	}
	return total
}

// pickClass returns the class in whose part of the sum of weights u lies.
func pickClass(weights []float64, u float64) int {
	class := 0
	for c, w := range weights {
		if w == 0 {
			continue
		}
		if class = c; u < w {
			break
		}
		u -= w
	}
	return class
}

// logGamma returns the logarithm of a number with a gamma distribution of a positive
// shape: Marsaglia and Tsang, ACM TOMS 26 (2000), 363-372. The logarithm is finite for
// shapes near 0, whose numbers are not.
func logGamma(shape float64, stream *rng.Stream) float64 {
	boost := 0.0
	if shape < 1 {
		boost = elementary.Log(1-stream.Float64()) / shape
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := stream.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v *= v * v
		accept := float64(x*x/2) + d - float64(d*v) + float64(d*elementary.Log(v))
		if elementary.Log(1-stream.Float64()) < accept {
			return boost + elementary.Log(d*v)
		}
	}
}

// dealPowerLaw gives every client rows_min rows and divides the others in proportion to
// k^-exponent, k the rank of the client, which is random. With classes, client number i
// has the classes i, i+1, ..., and the rows of each class are divided so among its
// clients, as Li et al. do in the code of "Federated Optimization in Heterogeneous
// Networks" (FedProx), MLSys 2020, with log-normal weights.
func (d *dealing) dealPowerLaw() *config.Problem {
	if d.names != nil && d.Classes > d.groups {
		return &config.Problem{Key: "data.partition.classes", Value: d.Classes,
			Want: fmt.Sprintf("must be at most %d: the set has %d classes", d.groups, d.groups)}
	}
	groups, slots := d.byGroup(), d.Classes
	if slots == 0 {
		groups, slots = [][]int32{permutation(len(d.y), d.seed, rng.Partition, -1)}, 1
	} else if d.Clients < d.groups-slots+1 {
		return &config.Problem{Key: "data.partition.clients", Value: d.Clients,
			Want: fmt.Sprintf("must be at least %d, so that each of %d classes has a client, with %d classes each",
				d.groups-slots+1, d.groups, slots)}
	}
	ranks := make([]int32, d.Clients)
	for k := range ranks {
		ranks[k] = int32(k + 1)
	}
	stream := rng.New(d.seed, rng.Partition, -1, dealRanks)
	stream.Shuffle(ranks)
	for g, rows := range groups {
		base, weight, total := make([]int, d.Clients), make([]float64, d.Clients), 0.0
		rest := len(rows)
		for k := range ranks {
			slot := (g - k%len(groups) + len(groups)) % len(groups) // class g is number slot of client k
			if slot >= slots {
				continue
			}
			base[k] = cut(d.RowsMin, slot+1, slots) - cut(d.RowsMin, slot, slots)
			rest -= base[k]
			weight[k] = elementary.Exp(-float64(d.Exponent * elementary.Log(float64(ranks[k]))))
			total += weight[k]
		}
		if rest < 0 {
			what := fmt.Sprintf("there are %d training rows", len(rows))
			if d.Classes > 0 {
				what = fmt.Sprintf("class %s has %d training rows", d.names[g], len(rows))
			}
			return &config.Problem{Key: "data.partition.rows_min", Value: d.RowsMin,
				Want: fmt.Sprintf("%s, and %d are needed: reduce it or data.partition.clients", what, len(rows)-rest)}
		}
		at, sum, given := 0, 0.0, 0
		for k := range ranks {
			if weight[k] == 0 {
				continue
			}
			sum += weight[k]
			to := shareOf(rest, sum, total)
			n := base[k] + to - given
			d.rows[k] = append(d.rows[k], rows[at:at+n]...)
			at, given = at+n, to
		}
	}
	return nil
}

// shareOf returns the whole part of rest rows that have a share of sum in total. It is rest for
// all of total, where rounding could lose a row of millions.
func shareOf(rest int, sum, total float64) int {
	if sum == total {
		return rest
	}
	return min(rest, int(math.Floor(float64(float64(rest)*sum/total)+1e-9)))
}

// dealHeld assigns the held rows: those of a class in proportion to the clients' training
// rows of that class, up to rounding. Held rows of a class without training rows go to
// clients in proportion to all their rows.
func (d *dealing) dealHeld() {
	if len(d.heldY) == 0 {
		return
	}
	owners, everyone := make([][]int32, d.groups), make([]int32, 0, len(d.y))
	for k, rows := range d.rows {
		for _, row := range rows {
			owners[d.group[row]] = append(owners[d.group[row]], int32(k))
			everyone = append(everyone, int32(k))
		}
	}
	for g, rows := range d.heldByGroup() {
		stream := rng.New(d.seed, rng.Partition, g, dealHeld)
		stream.Shuffle(rows)
		of := owners[g]
		if len(of) == 0 {
			of = everyone
		}
		for i, row := range rows {
			k := of[cut(len(of), 2*i+1, 2*len(rows))]
			d.held[k] = append(d.held[k], row)
		}
	}
}

// heldByGroup returns the held rows of each class. For shards of real targets it cuts them
// as the training rows are cut.
func (d *dealing) heldByGroup() [][]int32 {
	rows := make([][]int32, d.groups)
	order := numbersTo(len(d.heldY))
	ranged := d.names == nil && d.groups > 1
	if ranged {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.heldY[a], d.heldY[b]) })
	}
	for position, i := range order {
		g := d.class(d.heldY[i])
		if ranged {
			g = int32(cut(d.groups, position, len(order)))
		}
		rows[g] = append(rows[g], int32(len(d.y))+i)
	}
	return rows
}
