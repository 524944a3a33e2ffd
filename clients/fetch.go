package clients

// fetch reads the state of devices whose events come next into caches. Between two events
// of a device there are about as many events as devices, so its state comes from memory.
// A loop that only reads has many reads under way at a time; a handler waits for each.
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
	c.fetched = read // the compiler removes reads without a use
	if c.setup.Ahead != nil {
		c.setup.Ahead(soon)
	}
}
