package traces

// stream takes the items of the outermost dict as they come, so that a pickle
// of any size is read in bounded memory.
type stream struct {
	// take is given keys and values, one of each at least, which are valid until
	// it returns; nil: the dict is decoded whole.
	take func(items []value) error
	// from is the dict whose items were taken, as soon as there is one.
	from  value
	began bool
	held  int64 // bytes of lists, tuples and dicts since the last release
}

// take hands the items that an opcode puts into the dict at the bottom of the
// stack over to the stream, with those that the dict had before, and reports
// whether it did. What a pickler changes of a device afterwards is not seen;
// none does.
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

// hold counts memory of a list, tuple or dict that is about to be taken.
func (p *pickle) hold(bytes int64) error {
	p.stream.held += bytes
	return p.charge(bytes)
}

// release forgets all lists, tuples and dicts but the outermost, which is alone
// on the stack. Only the memo can name the others, and it is told.
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
