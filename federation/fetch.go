package federation

// fetch reads what is held of devices whose events come next. A device that has an
// event has mostly not been touched for as many events as there are devices, so
// that each piece of its state comes from memory. A loop that only reads has many
// of them underway at a time, a handler waits for one after the other.
func (f *Federation) fetch(soon []int32) {
	read := 0.0
	for _, t := range soon {
		if int(t) >= len(f.devices) {
			continue // a hub
		}
		d := &f.devices[t]
		read += float64(d.began) + float64(d.phase) // its two lines
		read += f.batteries.Spent(int(t)) + f.links.UplinkMbps(int(t)) + float64(f.batteries.PowerChangeAt(int(t)))
		if empty, ok := f.batteries.EmptyAt(int(t)); ok {
			read += float64(empty)
		}
		if f.dues != nil {
			read += float64(f.dues[t])
		}
		read += float64(f.budget(int(t)))
		if look, ok := f.clock.Timer(int(t)); ok {
			read += float64(look)
		}
	}
	f.fetched = read // what is not used would not be read
}
