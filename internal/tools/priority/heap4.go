package priority

// heap4 is an implicit 4-ary heap of items: the children of i are 4i+1..4i+4. It is half
// as deep as a binary heap, and a node's four children lie in one or two cache lines.
type heap4 struct{ items []Item }

var _ Queue = (*heap4)(nil)

const arity = 4

func (h *heap4) Len() int { return len(h.items) }

func (h *heap4) Push(it Item) {
	h.items = append(h.items, it)
	h.up(len(h.items) - 1)
}

func (h *heap4) PopBefore(bound Item) (first Item, ok bool) {
	if len(h.items) == 0 || !h.items[0].Before(bound) {
		return Item{}, false
	}
	first = h.items[0]
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	if last > 1 {
		h.down(0)
	}
	return first, true
}

func (h *heap4) Compact(wanted Filter) {
	h.items = wanted(h.items)
	n := len(h.items)
	for i := (n - 2) / arity; i >= 0 && n > 1; i-- {
		h.down(i)
	}
}

// up moves the item at i towards the root to its place.
func (h *heap4) up(i int) {
	items := h.items
	it := items[i]
	for i > 0 {
		parent := (i - 1) / arity
		if !it.Before(items[parent]) {
			break
		}
		items[i] = items[parent]
		i = parent
	}
	items[i] = it
}

// down moves the item at i towards the leaves to its place.
func (h *heap4) down(i int) {
	items := h.items
	it := items[i]
	for {
		child := arity*i + 1
		if child >= len(items) {
			break
		}
		least := child
		for c := child + 1; c < min(child+arity, len(items)); c++ {
			if items[c].Before(items[least]) {
				least = c
			}
		}
		if !items[least].Before(it) {
			break
		}
		items[i] = items[least]
		i = least
	}
	items[i] = it
}
