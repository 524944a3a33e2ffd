package data

import "slices"

// streamable reports whether tasks can be generated, split and prepared one by one:
// nothing is fitted to all of them.
func (c Config) streamable() bool {
	return c.Source == SourceSynthetic && !c.Standardize && !c.Skew && c.DevicesPerTask == 1 && c.Partition.Method == ""
}

// stream is Divide and Transform of a streamable configuration, task by task. It only
// holds the result, each half in one arena.
func stream(cfg Config) *Split {
	g, set := generatorOf(cfg)
	split := &Split{Train: set, Test: set.empty()}
	if cfg.Bias {
		split.Train.Features++
		split.Test.Features++
	}
	reserve(split.Train, g.sizes, cfg, func(n int) int { return trainingRows(n, cfg.TestFraction) })
	reserve(split.Test, g.sizes, cfg, func(n int) int { return n - trainingRows(n, cfg.TestFraction) })
	if !cfg.Resident {
		split.Train.remake, split.Test.remake = newRemaker(g, cfg, false), newRemaker(g, cfg, true)
	}
	g.each(func(t int, task *Task) {
		trained, tested := divided(len(task.Y), cfg.TestFraction, cfg.SplitSeed(), t)
		fill(&split.Train.Tasks[t], task, trained)
		fill(&split.Test.Tasks[t], task, tested)
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
		set.Tasks[t].X = Matrix{Rows: to - from, Cols: arena.Cols, Stride: arena.Stride}
		if cfg.Resident {
			set.Tasks[t].X = arena.rows(from, to)
		}
		set.Tasks[t].Y = targets[from:to:to]
		from = to
	}
}

// fill copies the given rows of a task, in ascending order, or only their targets. A
// feature that the task does not have is the bias.
func fill(into, task *Task, rows []int32) {
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
