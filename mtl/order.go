package mtl

// Order visits the rows of a task in random permutations, one after the other. Each visit
// takes one draw.
type Order struct {
	rows   []int32
	next   int
	stream Stream
}

// Reset starts a new permutation of n rows with draws from s. It allocates only when n is
// larger than in all earlier calls.
func (o *Order) Reset(n int, s Stream) {
	o.resize(n)
	for i := range o.rows {
		o.rows[i] = int32(i)
	}
	o.next, o.stream = 0, s
}

// ResetTo starts a new permutation of the given rows, which it copies.
func (o *Order) ResetTo(rows []int32, s Stream) {
	o.resize(len(rows))
	copy(o.rows, rows)
	o.next, o.stream = 0, s
}

func (o *Order) resize(n int) {
	if cap(o.rows) < n {
		o.rows = make([]int32, n)
	}
	o.rows = o.rows[:n]
}

// Next returns the next row.
func (o *Order) Next() int { return int(o.Take(1)[0]) }

// Take returns up to most next rows of the current permutation. They are valid until the
// next draw.
func (o *Order) Take(most int) []int32 {
	from, to := o.pass(most)
	o.stream.Draw(o.rows, from, to)
	return o.rows[from:to]
}

// InOrder is Take without draws: rows in their order.
func (o *Order) InOrder(most int) []int32 {
	from, to := o.pass(most)
	return o.rows[from:to]
}

// pass advances past the positions of the rows that Take returns. The caller must draw them.
func (o *Order) pass(most int) (from, to int) {
	from, to = o.next, min(o.next+most, len(o.rows))
	if o.next = to; to == len(o.rows) {
		o.next = 0
	}
	return from, to
}
