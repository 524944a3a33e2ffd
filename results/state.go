package results

// RoundCoder codes rounds one after the other, bit for bit, without their values by client. They may be of
// several versions of fedsim: each knows the columns of its own.
type RoundCoder struct {
	own     string // names of the columns of this version
	names   string // of those of the last round; empty before the first
	columns []Column[Round]
}

// Code writes a round, or reads it. Measures of columns that were not written stay as they are.
func (rc *RoundCoder) Code(c *Coder, r *Round) {
	if rc.own == "" {
		rc.own = ColumnNames(RoundColumns)
	}
	names := "" // the same as before
	if !c.Reads() && rc.names != rc.own {
		names = rc.own
	}
	if c.String(&names); names != "" {
		columns, err := ColumnsNamed(RoundColumns, names, new(Round))
		if err != nil {
			c.Fail(err)
		}
		rc.names, rc.columns = names, columns
	}
	CodeRecord(c, rc.columns, r)
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
