package data

// Pool returns the set with all its devices in one task (paper, remark 4), for training
// one model on all rows: the global model of the paper's Table 1. Devices keep their
// names and rows, which both sets share. A pooled test set still has an element per
// previous task.
func Pool(set *Set) *Set {
	pooled := *set
	pooled.Owner = make([]int, len(set.Tasks))
	return &pooled
}

// Merge returns the set with the rows of all its tasks, in order, on one device. It
// panics if rows are not in memory, or have different precisions.
func Merge(set *Set) *Set {
	merged := *set
	merged.Owner = nil
	all := Task{X: newRows(set.Tasks[0].X.Single != nil, set.Rows(), set.Features)}
	at := 0
	for t := range set.Tasks {
		x := &set.Tasks[t].X
		for i := range x.Rows {
			all.X.copyRow(at, x, i)
			at++
		}
		all.Y = append(all.Y, set.Tasks[t].Y...)
	}
	merged.Tasks = []Task{all}
	return &merged
}
