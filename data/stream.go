package data

import "slices"

// streamable reports whether tasks can be generated, split and prepared one by one:
// nothing is fitted to all of them.
func (c Config) streamable() bool {
	return c.Source == SourceSynthetic && c.NewClients == 0 && !c.Standardize && c.Skew == 0 && c.ClientsPerTask == 1 &&
		c.Partition.Method == "" && c.Folds == 0
}

// part is a part of a split, in the order of Parts.
type part int

const (
	trained part = iota
	tested
	validated
)

// partOf returns how many of n rows of a task are in a part. Rows are not skewed.
func (c *Config) partOf(p part, n int) int {
	train := c.testing(0).staying(n)
	stay := c.validating(0).staying(train)
	return [...]int{stay, n - train, train - stay}[p]
}

// rowsOf returns which of n rows of task t are in each part, as Divide does. orders are
// reusable buffers.
func (c *Config) rowsOf(orders *[2][]int32, n, t int) [3][]int32 {
	train, test := c.testing(c.SplitSeed()).divide(&orders[0], n, t)
	if c.Validation == 0 {
		return [...][]int32{train, test, nil}
	}
	slices.Sort(train)
	stay, held := c.validating(c.SplitSeed()).divide(&orders[1], len(train), t)
	for i, row := range orders[1] {
		orders[1][i] = train[row]
	}
	return [...][]int32{stay, test, held}
}

// stream is Divide and Transform of a streamable configuration, task by task. It only
// holds the result, each half in one arena.
func stream(cfg Config) *Split {
	g, set := generatorOf(cfg)
	set.Features = cfg.columns(set.Features)
	split := &Split{Train: set, Test: set.empty()}
	if cfg.Validation > 0 {
		split.Validation = set.empty()
	}
	parts := split.Parts()
	for p, of := range parts {
		reserve(of, g.sizes, cfg, func(n int) int { return cfg.partOf(part(p), n) })
		if !cfg.Resident {
			of.remake = newRemaker(g, cfg, part(p))
		}
	}
	g.each(func(t int, task *Client) {
		var orders [2][]int32
		rows := cfg.rowsOf(&orders, len(task.Y), t)
		for p, of := range parts {
			fill(&of.Clients[t], task, rows[p])
		}
	})
	return split
}

// reserve allocates the tasks of generated sizes. share returns how many of a task's
// rows the set gets. If rows are not resident, it only allocates targets.
func reserve(set *Set, sizes []int, cfg Config, share func(rows int) int) {
	total := 0
	for _, n := range sizes {
		total += share(totalRows(n))
	}
	held := 0
	if cfg.Resident {
		held = total
	}
	arena, targets := newRows(cfg.single(), held, set.Features), make([]float64, total)
	from := 0
	for t, size := range sizes {
		to := from + share(totalRows(size))
		set.Clients[t].X = Matrix{Rows: to - from, Cols: arena.Cols, Stride: arena.Stride}
		if cfg.Resident {
			set.Clients[t].X = arena.Part(from, to)
		}
		set.Clients[t].Y = targets[from:to:to]
		from = to
	}
}

// fill copies the given rows of a task, in ascending order, or only their targets. A
// feature that the task does not have is the bias.
func fill(into, task *Client, rows []int32) {
	slices.Sort(rows)
	into.Name = task.Name
	for i, row := range rows {
		into.Y[i] = task.Y[row]
		if into.X.hasValues() {
			into.X.copyRow(i, &task.X, int(row))
			into.X.fill(i, task.X.Cols, 1)
		}
	}
}
