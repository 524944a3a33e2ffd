package data

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/rng"
)

// centralSet returns a set with one task: rows[c] training rows of class c in mixed order, then
// tested[c] held rows. The only feature is the number of the row.
func centralSet(rows, tested []int) *Set {
	set := &Set{Name: "central", Features: 1, Classes: make([]string, len(rows))}
	task := Client{Name: "all"}
	for c := range rows {
		set.Classes[c] = string(rune('a' + c))
	}
	for part, counts := range [][]int{rows, tested} {
		var y []int32
		for c, n := range counts {
			y = append(y, slices.Repeat([]int32{int32(c)}, n)...)
		}
		stream := rng.New(99, rng.Solve, part, 0)
		stream.Shuffle(y)
		for _, c := range y {
			task.Y = append(task.Y, float64(c))
		}
		if part == 1 {
			task.Held = len(y)
		}
	}
	task.X = NewMatrix(len(task.Y), 1)
	for i := range task.Y {
		task.X.Row(i)[0] = float64(i)
	}
	set.Clients = []Client{task}
	return set
}

// parted returns the partition of a set.
func parted(t *testing.T, set *Set, p PartitionConfig) *Set {
	t.Helper()
	cfg := Defaults()
	cfg.Target = TargetClasses
	cfg.Partition = p
	out := expect.Value(gathered(cfg.partition(set)))(t)
	return out
}

// partitionOf returns the defaults with a method and a number of clients.
func partitionOf(method string, clients int, change func(p *PartitionConfig)) PartitionConfig {
	p := defaultPartition()
	p.Method, p.Clients = method, clients
	if change != nil {
		change(&p)
	}
	return p
}

// counts returns the training and the held rows of each class, by client.
func counts(set *Set) (trained, held [][]int) {
	for _, task := range set.Clients {
		a, b := make([]int, len(set.Classes)), make([]int, len(set.Classes))
		for i, y := range task.Y {
			if i < len(task.Y)-task.Held {
				a[int(y)]++
			} else {
				b[int(y)]++
			}
		}
		trained, held = append(trained, a), append(held, b)
	}
	return trained, held
}

func total(counts []int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

var partitions = []PartitionConfig{
	partitionOf(PartitionIID, 7, nil),
	partitionOf(PartitionIID, 53, nil),
	partitionOf(PartitionShards, 7, nil),
	partitionOf(PartitionShards, 53, func(p *PartitionConfig) { p.Shards = 3 }),
	partitionOf(PartitionDirichlet, 7, func(p *PartitionConfig) { p.Alpha = 1e-9 }),
	partitionOf(PartitionDirichlet, 53, func(p *PartitionConfig) { p.Alpha = 0.1 }),
	partitionOf(PartitionDirichlet, 53, func(p *PartitionConfig) { p.Alpha = 1e9 }),
	partitionOf(PartitionPowerLaw, 7, nil),
	partitionOf(PartitionPowerLaw, 7, func(p *PartitionConfig) { p.Exponent = 0 }),
	partitionOf(PartitionPowerLaw, 53, func(p *PartitionConfig) { p.Classes, p.RowsMin, p.Exponent = 3, 3, 1.5 }),
}

// Every row goes to exactly one client; held rows stay held, and rows keep their labels.
// Held rows of a class are in proportion to the training rows, up to one row.
func TestPartitionUsesEveryRowOnce(t *testing.T) {
	rows, tested := []int{300, 200, 40, 250, 160}, []int{61, 20, 3, 49, 30}
	for _, p := range partitions {
		set := centralSet(rows, tested)
		all := &set.Clients[0]
		out := parted(t, set, p)
		expect.Must(t, len(out.Clients) == p.Clients, "%+v: %d clients", p, len(out.Clients))
		seen := make([]int, len(all.Y))
		for k, task := range out.Clients {
			expect.That(t, task.Name == fmt.Sprint(k+1) && task.X.Rows == len(task.Y),
				"%+v: client %d is named %q and has %d rows of %d labels", p, k, task.Name, task.X.Rows, len(task.Y))
			for i, y := range task.Y {
				row := int(task.X.Row(i)[0])
				seen[row]++
				if held := i >= len(task.Y)-task.Held; held != (row >= len(all.Y)-all.Held) || y != all.Y[row] {
					t.Fatalf("%+v: row %d has label %v, held %v", p, row, y, held)
				}
			}
		}
		for row, n := range seen {
			expect.Must(t, n == 1, "%+v: row %d is used %d times", p, row, n)
		}
		trained, held := counts(out)
		for k := range out.Clients {
			expect.That(t, total(trained[k]) != 0, "%+v: client %d has no training rows", p, k)
			for c := range rows {
				quota := float64(tested[c]) * float64(trained[k][c]) / float64(rows[c])
				if math.Abs(float64(held[k][c])-quota) >= 1 {
					t.Errorf("%+v: client %d has %d held rows of class %d for %d training rows", p, k, held[k][c], c,
						trained[k][c])
				}
			}
		}
		if p.Method != PartitionPowerLaw {
			for k := range trained {
				if n := total(trained[k]); n != 950/p.Clients && n != 950/p.Clients+1 && p.Method != PartitionShards {
					t.Errorf("%+v: client %d has %d rows", p, k, n)
				}
			}
		}
	}
}

// Held rows of a class that no client has follow the clients' sizes.
func TestHeldRowsOfUnknownClass(t *testing.T) {
	_, held := counts(parted(t, centralSet([]int{40, 0, 40}, []int{0, 16, 0}), partitionOf(PartitionShards, 4, nil)))
	for k := range held {
		expect.That(t, held[k][1] == 4, "client %d has %d of 16 held rows", k, held[k][1])
	}
}

// With random test rows, those of the source are rows like others.
func TestPartitionOfRowsThatAreNotHeld(t *testing.T) {
	cfg := Defaults()
	cfg.TestRows = TestRowsRandom
	cfg.Partition = partitionOf(PartitionIID, 4, nil)
	out := expect.Value(gathered(cfg.partition(centralSet([]int{30, 30}, []int{10, 10}))))(t)
	for _, task := range out.Clients {
		expect.That(t, len(task.Y) == 20 && task.Held == 0,
			"client %s: %d rows, %d held", task.Name, len(task.Y), task.Held)
	}
}

// With iid rows, Pearson's statistic of the clients-by-classes table is close to its
// degrees of freedom, and the same seed gives the same rows.
func TestIIDPartitionHasNoPattern(t *testing.T) {
	rows := []int{3000, 1000, 500, 2500, 3000}
	for _, p := range []PartitionConfig{
		partitionOf(PartitionIID, 100, nil),
		partitionOf(PartitionDirichlet, 100, func(p *PartitionConfig) { p.Alpha = 1e9 }),
		partitionOf(PartitionPowerLaw, 100, func(p *PartitionConfig) { p.RowsMin = 50 }),
	} {
		trained, _ := counts(parted(t, centralSet(rows, make([]int, len(rows))), p))
		statistic := 0.0
		for _, of := range trained {
			for c, n := range of {
				want := float64(total(of)) * float64(rows[c]) / 10_000
				statistic += (float64(n) - want) * (float64(n) - want) / want
			}
		}
		freedom := 99.0 * 4
		expect.That(t, math.Abs(statistic-freedom) <= 5*math.Sqrt(2*freedom),
			"%s: chi-square %.1f with %g degrees of freedom", p.Method, statistic, freedom)
	}
}

// Shards: McMahan et al.'s setting. 10 classes of 600 rows in 200 shards of 30 rows: a
// client has two shards, so at most two classes, and 20 shards are of each class.
func TestShardsHaveTheirClasses(t *testing.T) {
	trained, _ :=
		counts(parted(t, centralSet(slices.Repeat([]int{600}, 10), make([]int, 10)),
			partitionOf(PartitionShards, 100, nil)))
	shards, pairs := make([]int, 10), 0
	for k, of := range trained {
		classes := 0
		for c, n := range of {
			expect.Must(t, n%30 == 0, "client %d has %d rows of class %d", k, n, c)
			shards[c] += n / 30
			classes += min(n, 1)
		}
		expect.Must(t, total(of) == 60 && classes <= 2, "client %d has %d rows of %d classes", k, total(of), classes)
		pairs += classes - 1
	}
	expect.That(t, slices.Equal(shards, slices.Repeat([]int{20}, 10)), "shards by class: %v", shards)
	// A pair of shards differs in class with probability 180/199: 90.5 clients, deviation 2.9.
	expect.That(t, pairs >= 76 && pairs != 100, "%d of 100 clients have two classes", pairs)
}

// Uneven classes: the rows of a client are whole shards of the sorted labels, which a
// slow search finds.
func TestShardsAreCutFromSortedLabels(t *testing.T) {
	rows := []int{31, 17, 50, 22}
	const clients, each = 6, 2
	var sorted []int
	for c, n := range rows {
		sorted = append(sorted, slices.Repeat([]int{c}, n)...)
	}
	shard := func(s int) []int {
		of := make([]int, len(rows))
		for i := range sorted {
			if i*clients*each >= s*len(sorted) && i*clients*each < (s+1)*len(sorted) {
				of[sorted[i]]++
			}
		}
		return of
	}
	trained, _ := counts(parted(t, centralSet(rows, make([]int, 4)), partitionOf(PartitionShards, clients, nil)))
	free := make([]bool, clients*each)
	var place func(k int) bool
	place = func(k int) bool {
		if k == clients {
			return true
		}
		for a := range free {
			for b := range a {
				both := shard(a)
				for c, n := range shard(b) {
					both[c] += n
				}
				if free[a] || free[b] || !slices.Equal(both, trained[k]) {
					continue
				}
				free[a], free[b] = true, true
				if place(k + 1) {
					return true
				}
				free[a], free[b] = false, false
			}
		}
		return false
	}
	expect.That(t, place(0), "no way to deal the shards gives %v", trained)
}

// Shares of classes of clients that have rows to choose from have the moments of the
// Dirichlet-multinomial distribution: mean p, variance p (1-p) (n+alpha) / (n (1+alpha)).
func TestDirichletMoments(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	rows := []int{10_000, 6_000, 4_000, 20_000}
	const clients, first, each = 1000, 200, 40
	for _, alpha := range []float64{0.1, 1, 10, 100} {
		trained, _ :=
			counts(
				parted(t, centralSet(rows, make([]int, 4)),
					partitionOf(PartitionDirichlet, clients, func(p *PartitionConfig) { p.Alpha = alpha })))
		for c := range rows {
			p := float64(rows[c]) / 40_000
			mean, squares := 0.0, 0.0
			for _, of := range trained[:first] {
				share := float64(of[c]) / each
				mean += share / first
				squares += (share - p) * (share - p) / first
			}
			variance := p * (1 - p) * (each + alpha) / (each * (1 + alpha))
			expect.That(t, math.Abs(mean-p) <= 3*math.Sqrt(variance/first),
				"alpha %g, class %d: mean share %.4f, want %.4f", alpha, c, mean, p)
			if math.Abs(squares/variance-1) > 0.3 { // deviation of the estimate: 10 % for normal shares
				t.Errorf("alpha %g, class %d: variance %.5f, want %.5f", alpha, c, squares, variance)
			}
		}
	}
}

// A concentration near 0 gives clients one class each, until it has no rows left.
func TestDirichletOfOneClass(t *testing.T) {
	trained, _ :=
		counts(parted(t, centralSet(slices.Repeat([]int{200}, 5), make([]int, 5)),
			partitionOf(PartitionDirichlet, 50, func(p *PartitionConfig) { p.Alpha = 1e-12 })))
	for k, of := range trained {
		expect.That(t, slices.Max(of) == 20, "client %d has %v", k, of)
	}
}

// The shares of a client are those of a slow twin, which draws row by row from a list.
func TestDirichletDrawsWithoutReplacement(t *testing.T) {
	rows := []int{60, 15, 45}
	p := partitionOf(PartitionDirichlet, 10, func(p *PartitionConfig) { p.Alpha = 0.7 })
	trained, _ := counts(parted(t, centralSet(rows, make([]int, 3)), p))
	left := slices.Clone(rows)
	for k := range 10 {
		stream := rng.New(1, rng.Partition, k, dealShares)
		gamma, want := make([]float64, 3), make([]int, 3)
		for c := range gamma {
			gamma[c] = math.Exp(logGamma(0.7*float64(rows[c])/120, &stream))
		}
		for range 12 {
			sum := 0.0
			for c := range gamma {
				if left[c] == 0 {
					gamma[c] = 0
				}
				sum += gamma[c]
			}
			u := stream.Float64() * sum
			c := 0
			for ; c < 2 && u >= gamma[c]; c++ {
				u -= gamma[c]
			}
			want[c]++
			left[c]--
		}
		expect.That(t, slices.Equal(trained[k], want), "client %d has %v, want %v", k, trained[k], want)
	}
}

// The mean and the variance of gamma numbers are the shape; that of the logarithm of
// shape 0.01 is digamma(0.01) = -100.56, which their products would lose.
func TestGammaMoments(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	const n = 100_000
	for _, shape := range []float64{0.1, 0.5, 1, 3, 40} {
		stream := rng.New(3, rng.Partition, 0, 0)
		mean, squares := 0.0, 0.0
		for range n {
			g := math.Exp(logGamma(shape, &stream))
			mean += g / n
			squares += (g - shape) * (g - shape) / n
		}
		expect.That(t, math.Abs(mean-shape) <= 4*math.Sqrt(shape/n), "shape %g: mean %v", shape, mean)
		fourth := 3*shape*shape + 6*shape
		expect.That(t, math.Abs(squares-shape) <= 4*math.Sqrt(fourth/n), "shape %g: variance %v", shape, squares)
	}
	stream, mean := rng.New(3, rng.Partition, 0, 0), 0.0
	for range n {
		mean += logGamma(0.01, &stream) / n
	}
	expect.That(t, math.Abs(mean+100.5608854579) <= 4*100/math.Sqrt(n), "mean logarithm of shape 0.01: %v", mean)
}

// Sizes follow the ranks: a slow twin computes the quotas, and every size differs from
// its quota by less than one row for each class.
func TestPowerLawSizes(t *testing.T) {
	for _, classes := range []int{0, 1, 2, 5} {
		rows := []int{900, 500, 700, 400, 500}
		const clients, least = 40, 7
		out := parted(t, centralSet(rows, make([]int, 5)),
			partitionOf(PartitionPowerLaw, clients, func(p *PartitionConfig) {
				p.Classes, p.RowsMin, p.Exponent = classes, least, 1.3
			}))
		trained, _ := counts(out)
		sizes := make([]float64, clients)
		for k := range trained {
			sizes[k] = float64(total(trained[k]))
			expect.That(t, sizes[k] >= least, "classes %d: client %d has %g rows", classes, k, sizes[k])
			for c, n := range trained[k] {
				if own := (c-k%5+5)%5 < classes; classes > 0 && n > 0 && !own {
					t.Errorf("classes %d: client %d has %d rows of class %d", classes, k, n, c)
				}
			}
		}
		if classes != 0 {
			continue
		}
		slices.Sort(sizes)
		slices.Reverse(sizes)
		sum := 0.0
		for r := range clients {
			sum += math.Pow(float64(r+1), -1.3)
		}
		for r, n := range sizes {
			quota := least + (3000-clients*least)*math.Pow(float64(r+1), -1.3)/sum
			expect.That(t, math.Abs(n-quota) <= 1, "rank %d has %g rows, want %.2f", r+1, n, quota)
		}
	}
}

// Within a class, clients have rows in proportion to the power of their rank, whatever
// the class.
func TestPowerLawOfClasses(t *testing.T) {
	const clients, base = 20, 4
	trained, _ :=
		counts(
			parted(t, centralSet([]int{4000, 8000}, []int{0, 0}),
				partitionOf(PartitionPowerLaw, clients, func(p *PartitionConfig) {
					p.Classes, p.RowsMin = 2, 2*base
				})))
	for c, rows := range []float64{4000, 8000} {
		var sizes []float64
		for k := range trained {
			sizes = append(sizes, float64(trained[k][c]))
		}
		slices.Sort(sizes)
		slices.Reverse(sizes)
		harmonic := 0.0
		for r := range clients {
			harmonic += 1 / float64(r+1)
		}
		for r, n := range sizes {
			quota := base + (rows-clients*base)/(float64(r+1)*harmonic)
			expect.That(t, math.Abs(n-quota) <= 1, "class %d, rank %d: %g rows, want %.2f", c, r+1, n, quota)
		}
	}
}

// Shards of real targets are ranges of the targets, and held rows are in the ranges of
// their client.
func TestShardsOfRealTargets(t *testing.T) {
	set := centralSet([]int{400}, []int{100})
	set.Classes, set.Real = nil, true
	for i := range set.Clients[0].Y {
		set.Clients[0].Y[i] = float64(i * 7 % 400)
		if i >= 400 {
			set.Clients[0].Y[i] = float64((i-400)*4) + 0.5
		}
	}
	out := parted(t, set, partitionOf(PartitionShards, 10, nil))
	for k, task := range out.Clients {
		ranges := map[int]int{}
		for _, y := range task.Y[:40] {
			ranges[int(y)/20]++
		}
		expect.That(t, len(task.Y) == 50 && task.Held == 10 && len(ranges) == 2,
			"client %d: %d rows, %d held, targets in %v", k, len(task.Y), task.Held, ranges)
		for _, y := range task.Y[40:] {
			expect.That(t, ranges[int(y)/20] != 0, "client %d: held target %v outside of %v", k, y, ranges)
		}
	}
}

// A partition depends on data.seed alone, and each method has pinned bits.
func TestPartitionIsDeterministic(t *testing.T) {
	digest := func(p PartitionConfig, seed uint64) uint64 {
		cfg := Defaults()
		cfg.Synthetic.Clients, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax, cfg.Synthetic.Features = 1, 300, 300, 2
		cfg.Seed, cfg.Partition = seed, p
		set := loaded(t, cfg)
		return set.Digest()
	}
	for _, c := range []struct {
		PartitionConfig
		want uint64
	}{
		{partitionOf(PartitionIID, 10, nil), 0x792736fbaa005d15},
		{partitionOf(PartitionShards, 10, nil), 0xcabda1f8c3e6204c},
		{partitionOf(PartitionDirichlet, 10, nil), 0x38874d9d768a91ef},
		{partitionOf(PartitionPowerLaw, 10, nil), 0x55e8755b9c7f351e},
	} {
		first := digest(c.PartitionConfig, 1)
		expect.That(t, first == digest(c.PartitionConfig, 1) && first != digest(c.PartitionConfig, 2),
			"%s: the seed does not decide", c.Method)
		expect.That(t, first == c.want, "%s: digest %#x, want %#x", c.Method, first, c.want)
	}
}

// Partitions that are not possible are refused with key and remedy.
func TestPartitionsRefused(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	for _, c := range []struct {
		p    PartitionConfig
		want string
	}{
		{partitionOf(PartitionIID, 101, nil),
			"data.partition.clients = 101: there are 100 training rows for 101 parts: reduce it"},
		{partitionOf(PartitionShards, 101, nil),
			"data.partition.clients = 101: there are 100 training rows for 202 parts: reduce it"},
		{partitionOf(PartitionShards, 60, nil),
			"data.partition.shards = 2: there are 100 training rows for 120 parts: reduce it"},
		{partitionOf(PartitionPowerLaw, 10, func(p *PartitionConfig) { p.Classes = 4 }),
			"data.partition.classes = 4: must be at most 3: the set has 3 classes"},
		{partitionOf(PartitionPowerLaw, 1, func(p *PartitionConfig) { p.Classes = 2 }),
			"data.partition.clients = 1: must be at least 2, so that each of 3 classes has a client, " +
				"with 2 classes each"},
		{partitionOf(PartitionPowerLaw, 20, func(p *PartitionConfig) { p.RowsMin = 6 }),
			"data.partition.rows_min = 6: there are 100 training rows, and 120 are needed: " +
				"reduce it or data.partition.clients"},
		{partitionOf(PartitionPowerLaw, 30, func(p *PartitionConfig) { p.Classes, p.RowsMin = 1, 3 }),
			"data.partition.rows_min = 3: class b has 20 training rows, and 30 are needed: " +
				"reduce it or data.partition.clients"},
	} {
		cfg := Defaults()
		cfg.Partition = c.p
		_, err := cfg.partition(centralSet([]int{50, 20, 30}, []int{1, 1, 1}))
		expect.That(t, err != nil && err.Error() == c.want, "error %v, want %s", err, c.want)
	}
	cfg := Defaults()
	cfg.Partition = partitionOf(PartitionIID, 10, nil)
	const want = "data.partition.method = \"iid\": the set has 20 clients, so it is federated already: " +
		"set data.partition.merge = true to put their rows together first, or remove the method"
	if _, err := Load(cfg); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	cfg.Partition.Merge = true
	if set, err := Load(cfg); err != nil || len(set.Clients) != 10 ||
		set.Name != "synthetic (generated), 10 clients by iid" {
		t.Errorf("merged: %v, %v", set, err)
	}
}

// Keys without effect, and values out of range, are refused when the scenario is read.
func TestPartitionConfigs(t *testing.T) {
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Partition.Method, c.Partition.Clients = "dirchlet", 5 },
			`partition.method = "dirchlet": must be one of iid, shards, dirichlet, ` +
				`power-law (did you mean "dirichlet"?)`},
		{func(c *Config) { c.Partition.Clients = 7 },
			"partition.clients = 7: has no effect without data.partition.method"},
		{func(c *Config) { c.Partition.Clients = 100 },
			"partition.clients = 100: has no effect without data.partition.method"},
		{func(c *Config) { c.Partition = partitionOf(PartitionIID, 0, nil) },
			"partition.clients = 0: must be in [1, 67108864]"},
		{func(c *Config) {
			c.Partition = partitionOf(PartitionShards, 5, func(p *PartitionConfig) { p.Alpha = 2 })
		}, `partition.alpha = 2: has no effect when method is "shards"; it belongs to "dirichlet"`},
		{func(c *Config) {
			c.Partition = partitionOf(PartitionDirichlet, 5, func(p *PartitionConfig) { p.Alpha = math.NaN() })
		}, "partition.alpha = NaN: must be in [1e-9, 1e9]"},
		{func(c *Config) { c.Partition = partitionOf(PartitionDirichlet, 5, nil); c.Target = TargetReal },
			`partition.method = "dirichlet": must be another when target is "real": the rows have no classes. ` +
				`shards divides them by their targets`},
		{func(c *Config) { c.Partition = partitionOf(PartitionIID, 5, nil); c.Skew = 3 },
			"skew = 3: must be left out with a partition, whose rows are all used; power-law gives clients of " +
				"different sizes"},
		{func(c *Config) { c.Partition = partitionOf(PartitionIID, 5, nil); c.ClientsPerTask = 2 },
			"clients_per_task = 2: must be 1 with a partition: increase data.partition.clients instead"},
		{func(c *Config) { c.Partition = partitionOf(PartitionIID, 5, nil); c.Resident = false },
			"resident = false: must be true unless the set is generated, without standardize, skew, " +
				"clients_per_task and partition: other sets cannot be generated again client by client"},
	} {
		cfg := Defaults()
		c.change(&cfg)
		check := config.NewChecker()
		cfg.Validate(check)
		got := fmt.Sprint(check.Problems())
		expect.That(t, got == "["+c.want+"]", "problems %s, want %s", got, c.want)
	}
}

// Sizes, pooling and preparation work on a partition.
func TestPartitionIsPrepared(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 1, 1000, 1000
	cfg.Bias, cfg.Standardize, cfg.Pool = true, true, true
	cfg.Partition = partitionOf(PartitionPowerLaw, 25, func(p *PartitionConfig) { p.RowsMin = 4 })
	split := prepared(t, cfg)
	rows, _, features, _, err := Sizes(cfg)
	expect.Must(t, err == nil && features == 41 && len(rows) == 25,
		"%d sizes, %d features: %v", len(rows), features, err)
	all := 0
	for k, n := range rows {
		all += int(n) + split.Test.Clients[k].X.Rows
		expect.That(t, int(n) == split.Train.Clients[k].X.Rows && split.Train.TaskOf(k) == 0,
			"client %d: %d rows, want %d", k, n, split.Train.Clients[k].X.Rows)
	}
	expect.That(t, all == totalRows(1000), "%d rows in all", all)
}
