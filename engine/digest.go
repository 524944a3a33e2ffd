package engine

// digest is a running hash of events: each word is folded in by an exclusive or
// and the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), so that
// order matters.
type digest uint64

func (d digest) add(ev Event) digest {
	h := fold(uint64(d), uint64(ev.At))
	h = fold(h, uint64(uint32(ev.Device))<<32|uint64(ev.Seq))
	return digest(fold(h, uint64(ev.Kind)))
}

func fold(h, word uint64) uint64 {
	z := h ^ word
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
