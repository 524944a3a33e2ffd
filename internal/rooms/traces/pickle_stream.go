package traces

// stream passes on the items of the outermost dict as they are read, so that a pickle of
// any size is read in bounded memory.
type stream struct {
	// take gets keys and values, at least one of each, which are valid until it returns.
	// nil: the dict is decoded as a whole.
	take func(items []value) error
	// the dict whose items were taken, once there is one
	from  value
	began bool
	held  int64 // bytes of lists, tuples and dicts since the last release
}

// take passes the items that an opcode adds to the dict at the bottom of the stack to
// the stream, together with earlier items of that dict. It reports whether it did. Later
// changes to a taken device would be missed; picklers do not make any.
func (p *pickle) take(target value, below int, items []value) (taken bool, err error) {
	s := &p.stream
	if s.take == nil || target.tag != dict || below != 0 || len(p.marks) > 0 || s.began && s.from != target {
		return false, nil
	}
	s.from, s.began = target, true
	if err := p.keys(items); err != nil {
		return false, err
	}
	d := &p.dicts[target.bits]
	earlier := d.items
	d.items = nil
	for _, batch := range [2][]value{earlier, items} {
		if len(batch) == 0 {
			continue
		}
		if err := s.take(batch); err != nil {
			return false, err
		}
	}
	p.drop(len(items))
	if s.held > p.limit/4 {
		p.release()
	}
	return true, nil
}

// hold counts memory of a list, tuple or dict before it is allocated.
func (p *pickle) hold(bytes int64) error {
	p.stream.held += bytes
	return p.charge(bytes)
}

// release drops all lists, tuples and dicts except the outermost, which is alone on the
// stack. The memo marks the others as released.
func (p *pickle) release() {
	root := p.stream.from
	for i, v := range p.memo {
		switch {
		case v == root:
			p.memo[i] = value{tag: dict}
		case v.tag == list || v.tag == tuple || v.tag == dict:
			p.memo[i] = value{tag: released}
		}
	}
	p.lists = nil
	p.dicts = []dictionary{{at: p.dicts[root.bits].at}}
	p.stream.from = value{tag: dict}
	p.stack[0] = p.stream.from
	p.used -= p.stream.held
	p.stream.held = 0
}
