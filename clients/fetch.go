package clients

// fetch reads what is held of devices whose events come next. A device that has an
// event has mostly not been touched for as many events as there are devices, so
// that each piece of its state comes from memory. A loop that only reads has many
// of them underway at a time, a handler waits for one after the other.
func (c *Clients) fetch(soon []int32) {
	read := 0.0
	for _, t := range soon {
		if int(t) >= len(c.devices) {
			continue // a hub
		}
		d := &c.devices[t]
		read += float64(d.began) + float64(d.phase) // its two lines
		read += c.batteries.Spent(int(t)) + c.links.UplinkMbps(int(t)) + float64(c.batteries.PowerChangeAt(int(t)))
		if empty, ok := c.batteries.EmptyAt(int(t)); ok {
			read += float64(empty)
		}
		if c.due != nil {
			read += float64(c.due[t])
		}
		if look, ok := c.clock.Timer(int(t)); ok {
			read += float64(look)
		}
	}
	c.fetched = read // what is not used would not be read
	if c.setup.Ahead != nil {
		c.setup.Ahead(soon)
	}
}
