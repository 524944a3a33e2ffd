package data

// AppendBias adds a feature that is always 1 to the set, in place. If features have
// names it is called "bias" (or "bias#2" if there is one). It panics if rows are not in
// double precision.
func AppendBias(set *Set) {
	for t := range set.Clients {
		old := set.Clients[t].X
		if !old.Dense() {
			set.Clients[t].X = old.withOnes()
			continue
		}
		wide := NewMatrix(old.Rows, old.Cols+1)
		for i := range old.Rows {
			x := wide.Row(i)
			copy(x, old.Row(i))
			x[old.Cols] = 1
		}
		set.Clients[t].X = wide
	}
	set.Features++
	if len(set.FeatureNames) > 0 {
		set.FeatureNames = uniqueNames(append(set.FeatureNames, "bias"))
	}
}
