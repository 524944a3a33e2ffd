package data

// Pool returns the set with all its devices in one task (paper, remark 4), so that
// one model is learnt from all rows: the global model of the paper's Table 1.
// Devices keep their names and their rows, which both sets share. A pooled test
// set still has an element for each task there was before.
func Pool(set *Set) *Set {
	pooled := *set
	pooled.Owner = make([]int, len(set.Tasks))
	return &pooled
}

// Merge returns the set with the rows of all its tasks, in order, on one device.
// It panics when rows are not in memory, or not all in the same precision.
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
