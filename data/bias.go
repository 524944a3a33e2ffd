package data

// AppendBias gives the set one more feature that is always 1, in place. When
// features have names it is called "bias" (or "bias#2" if there is one). It panics
// when rows are not held as float64.
func AppendBias(set *Set) {
	for t := range set.Tasks {
		old := set.Tasks[t].X
		wide := NewMatrix(old.Rows, old.Cols+1)
		for i := range old.Rows {
			x := wide.Row(i)
			copy(x, old.Row(i))
			x[old.Cols] = 1
		}
		set.Tasks[t].X = wide
	}
	set.Features++
	if len(set.FeatureNames) > 0 {
		set.FeatureNames = uniqueNames(append(set.FeatureNames, "bias"))
	}
}
