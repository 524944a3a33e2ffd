package data

// Pool returns the set with all its devices in one task (paper, remark 4), for training
// one model on all rows: the global model of the paper's Table 1. Devices keep their
// names and rows, which both sets share. A pooled test set still has an element per
// previous task.
func Pool(set *Set) *Set {
	pooled := *set
	pooled.Owner = make([]int, len(set.Clients))
	return &pooled
}

// Merge returns the set with the rows of all its tasks, in order, on one device; rows that
// the source holds out for testing follow all others. It panics if rows are not in
// memory, or have different precisions.
func Merge(set *Set) *Set {
	merged := *set
	merged.Owner = nil
	all := Client{Name: "all"}
	if set.sparse() {
		all.X = NewSparse(set.Features)
	} else {
		all.X = newRows(set.Clients[0].X.Single != nil, set.Rows(), set.Features)
	}
	take := func(task *Client, from, to int) {
		for i := from; i < to; i++ {
			if task.X.Dense() {
				all.X.copyRow(len(all.Y), &task.X, i)
			} else {
				all.X.AppendRow(task.X.nonzeros(i))
			}
			all.Y = append(all.Y, task.Y[i])
		}
	}
	for t := range set.Clients {
		take(&set.Clients[t], 0, len(set.Clients[t].Y)-set.Clients[t].Held)
	}
	for t := range set.Clients {
		task := &set.Clients[t]
		take(task, len(task.Y)-task.Held, len(task.Y))
		all.Held += task.Held
	}
	merged.Clients = []Client{all}
	return &merged
}
