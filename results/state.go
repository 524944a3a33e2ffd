package results

// State codes a round, bit for bit, without its values by client.
func (r *Round) State(c *Coder) {
	CodeRecord(c, RoundColumns, r)
	n := c.Count(len(r.Thetas))
	if c.Reads() {
		r.Thetas = nil
	}
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			r.Thetas = append(r.Thetas, 0)
		}
		c.Float64(&r.Thetas[i])
	}
	n = c.Count(len(r.Metrics))
	if c.Reads() {
		r.Metrics = nil
	}
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			r.Metrics = append(r.Metrics, NamedValue{})
		}
		c.String(&r.Metrics[i].Split)
		c.String(&r.Metrics[i].Name)
		c.Float64(&r.Metrics[i].Value)
	}
}
