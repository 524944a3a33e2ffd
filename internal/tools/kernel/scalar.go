package kernel

// element is the type that a row is held in.
type element interface{ float32 | float64 }

// lanes of the canonical sum. Up to as many elements are faster in Go than a call
// into assembly is.
const lanes = 16

// scalarDot is Dot as the package comment defines it. Variables stay in registers
// where an array would not.
func scalarDot[T element](x []T, y []float64) float64 {
	sameLength(len(x), len(y))
	if len(x) <= lanes {
		return shortDot(x, y)
	}
	var s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15 float64
	for ; len(x) >= lanes && len(y) >= lanes; x, y = x[lanes:], y[lanes:] {
		s0 += float64(float64(x[0]) * y[0])
		s1 += float64(float64(x[1]) * y[1])
		s2 += float64(float64(x[2]) * y[2])
		s3 += float64(float64(x[3]) * y[3])
		s4 += float64(float64(x[4]) * y[4])
		s5 += float64(float64(x[5]) * y[5])
		s6 += float64(float64(x[6]) * y[6])
		s7 += float64(float64(x[7]) * y[7])
		s8 += float64(float64(x[8]) * y[8])
		s9 += float64(float64(x[9]) * y[9])
		s10 += float64(float64(x[10]) * y[10])
		s11 += float64(float64(x[11]) * y[11])
		s12 += float64(float64(x[12]) * y[12])
		s13 += float64(float64(x[13]) * y[13])
		s14 += float64(float64(x[14]) * y[14])
		s15 += float64(float64(x[15]) * y[15])
	}
	s := [lanes]float64{s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15}
	for i, xi := range x {
		s[i] += float64(float64(xi) * y[i])
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for l := range half {
			s[l] += s[l+half]
		}
	}
	return s[0]
}

// scalarDots is Dots, or DotsOf with rows.
func scalarDots[T element](x []T, stride int, rows []int32, u, z []float64) {
	for k := range z {
		i := k
		if rows != nil {
			i = int(rows[k])
		}
		z[k] = scalarDot(x[i*stride:][:len(u)], u)
	}
}

// scalarAxpy is Axpy.
func scalarAxpy[T element](a float64, x []T, y []float64) {
	sameLength(len(x), len(y))
	for i, xi := range x {
		y[i] += float64(a * float64(xi))
	}
}

// scalarAxpyDot is AxpyDot without the hints.
func scalarAxpyDot[T element](a float64, x []T, u []float64, next []T) float64 {
	sameLength(len(x), len(u))
	sameLength(len(next), len(u))
	if len(u) <= lanes {
		return shortAxpyDot(a, x, u, next)
	}
	scalarAxpy(a, x, u)
	return scalarDot(next, u)
}

// scalarScale is Scale.
func scalarScale[T element](a float64, x []T, y []float64) {
	sameLength(len(x), len(y))
	for i, v := range x {
		y[i] = a * float64(v)
	}
}

// scalarRotate is Rotate.
func scalarRotate(c, s float64, x, y []float64) {
	sameLength(len(x), len(y))
	for i, xi := range x {
		yi := y[i]
		x[i] = float64(c*xi) - float64(s*yi)
		y[i] = float64(s*xi) + float64(c*yi)
	}
}

// scalarRound32 is Round32.
func scalarRound32(x []float64, y []float32) {
	sameLength(len(x), len(y))
	for i, v := range x {
		y[i] = float32(v)
	}
}

// scalarDescend is Descend.
func scalarDescend(keep, pull, rate float64, u, from, by []float64) {
	sameLength(len(u), len(from))
	sameLength(len(u), len(by))
	for i := range u {
		u[i] = (float64(keep*u[i]) + float64(pull*from[i])) - float64(rate*by[i])
	}
}
