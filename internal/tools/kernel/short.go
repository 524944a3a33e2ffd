package kernel

// shortDot is the canonical sum of at most sixteen products. A lane has but one:
// s_l is the sum of lanes l and l+8.
func shortDot[T element](x []T, y []float64) float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	switch len(x) {
	case 16:
		s7 += float64(float64(x[15]) * y[15])
		fallthrough
	case 15:
		s6 += float64(float64(x[14]) * y[14])
		fallthrough
	case 14:
		s5 += float64(float64(x[13]) * y[13])
		fallthrough
	case 13:
		s4 += float64(float64(x[12]) * y[12])
		fallthrough
	case 12:
		s3 += float64(float64(x[11]) * y[11])
		fallthrough
	case 11:
		s2 += float64(float64(x[10]) * y[10])
		fallthrough
	case 10:
		s1 += float64(float64(x[9]) * y[9])
		fallthrough
	case 9:
		s0 += float64(float64(x[8]) * y[8])
		fallthrough
	case 8:
		s7 += float64(float64(x[7]) * y[7])
		fallthrough
	case 7:
		s6 += float64(float64(x[6]) * y[6])
		fallthrough
	case 6:
		s5 += float64(float64(x[5]) * y[5])
		fallthrough
	case 5:
		s4 += float64(float64(x[4]) * y[4])
		fallthrough
	case 4:
		s3 += float64(float64(x[3]) * y[3])
		fallthrough
	case 3:
		s2 += float64(float64(x[2]) * y[2])
		fallthrough
	case 2:
		s1 += float64(float64(x[1]) * y[1])
		fallthrough
	case 1:
		s0 += float64(float64(x[0]) * y[0])
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

// shortAxpyDot is scalarAxpyDot for at most sixteen elements, in one pass.
func shortAxpyDot[T element](a float64, x []T, u []float64, next []T) float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	switch len(u) {
	case 16:
		s7 += axpyProduct(a, x, u, next, 15)
		fallthrough
	case 15:
		s6 += axpyProduct(a, x, u, next, 14)
		fallthrough
	case 14:
		s5 += axpyProduct(a, x, u, next, 13)
		fallthrough
	case 13:
		s4 += axpyProduct(a, x, u, next, 12)
		fallthrough
	case 12:
		s3 += axpyProduct(a, x, u, next, 11)
		fallthrough
	case 11:
		s2 += axpyProduct(a, x, u, next, 10)
		fallthrough
	case 10:
		s1 += axpyProduct(a, x, u, next, 9)
		fallthrough
	case 9:
		s0 += axpyProduct(a, x, u, next, 8)
		fallthrough
	case 8:
		s7 += axpyProduct(a, x, u, next, 7)
		fallthrough
	case 7:
		s6 += axpyProduct(a, x, u, next, 6)
		fallthrough
	case 6:
		s5 += axpyProduct(a, x, u, next, 5)
		fallthrough
	case 5:
		s4 += axpyProduct(a, x, u, next, 4)
		fallthrough
	case 4:
		s3 += axpyProduct(a, x, u, next, 3)
		fallthrough
	case 3:
		s2 += axpyProduct(a, x, u, next, 2)
		fallthrough
	case 2:
		s1 += axpyProduct(a, x, u, next, 1)
		fallthrough
	case 1:
		s0 += axpyProduct(a, x, u, next, 0)
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

// axpyProduct adds a x_i to u_i, and returns the product of u_i with an element of next.
func axpyProduct[T element](a float64, x []T, u []float64, next []T, i int) float64 {
	u[i] += float64(a * float64(x[i]))
	return float64(float64(next[i]) * u[i])
}
