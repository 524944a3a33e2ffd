package timeline

import "slices"

// sample returns k of the devices 0..n-1, all of them when there are no more, in
// ascending order: evenly spaced ones of those asked, which are ascending, and when
// these are too few all of them and evenly spaced ones of the others.
func sample(k, n int, asked []int32) []int32 {
	if k <= len(asked) {
		return spaced(k, len(asked), func(i int) int32 { return asked[i] })
	}
	others := make([]int32, 0, n-len(asked))
	for client, i := int32(0), 0; int(client) < n; client++ {
		if i < len(asked) && asked[i] == client {
			i++
			continue
		}
		others = append(others, client)
	}
	rest := spaced(min(k-len(asked), len(others)), len(others), func(i int) int32 { return others[i] })
	all := append(slices.Clone(asked), rest...)
	slices.Sort(all)
	return all
}

// spaced returns k of n things, as evenly spaced as can be, the first among them.
func spaced(k, n int, of func(i int) int32) []int32 {
	out := make([]int32, k)
	for i := range out {
		out[i] = of(i * n / k)
	}
	return out
}
