package engine

// digest is a running hash of events that depends on their order. Each event's fields
// are mixed into a word by odd multipliers. The word is folded in by exclusive or and
// the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Only the finalizer
// depends on the previous event.
type digest uint64

func (d digest) add(ev Event) digest {
	word := uint64(ev.At)*0x9e3779b97f4a7c15 + (uint64(uint32(ev.Device))<<32|uint64(ev.Seq))*0xd6e8feb86659fd93 +
		uint64(ev.Kind)*0xa0761d6478bd642f
	z := uint64(d) ^ word
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return digest(z ^ z>>31)
}
