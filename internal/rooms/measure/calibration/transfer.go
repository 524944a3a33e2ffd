package calibration

import (
	"fmt"
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/orderstat"
)

// The terms of the time of a transfer, in the order of sample.x, for a nominal rate r in bit/s:
//
//	seconds = q_i (8 wire_factor bytes/r - 8 burst/r) e.
//
// The factors q_i correct the nominal rates of clients: the rate of client i is r/q_i. Without
// nominal rates r is 10^6, the wire factor is 1, and q_i alone has the rate.
const (
	wireTerm = iota
	burstTerm
	transferTerms
)

var transferOrder = []int{wireTerm, burstTerm}

// direction is one of the two directions of a link.
type direction struct {
	name    string // of the columns of sizes
	bytes   func(*attemptlog.Attempt) float64
	nominal func(*attemptlog.Attempt) float64
	seconds func(*attemptlog.Attempt) float64
	shared  []string // settings that make transfers share a link
}

var directions = [2]direction{
	{
		name:    "down",
		bytes:   func(a *attemptlog.Attempt) float64 { return a.BytesDown },
		nominal: func(a *attemptlog.Attempt) float64 { return a.DownMbps },
		seconds: func(a *attemptlog.Attempt) float64 { return a.Receive },
		shared:  []string{"network.server_down_mbps", "network.cell_down_mbps"},
	},
	{
		name:    "up",
		bytes:   func(a *attemptlog.Attempt) float64 { return a.BytesUp },
		nominal: func(a *attemptlog.Attempt) float64 { return a.UpMbps },
		seconds: func(a *attemptlog.Attempt) float64 {
			if math.IsNaN(a.ReplyFirst) {
				return a.Reply
			}
			return a.Seen - a.ReplyFirst
		},
		shared: []string{"network.server_up_mbps", "network.cell_up_mbps"},
	},
}

// leastTransfer is the shortest transfer that is fitted, in seconds: below it the time of the
// program that measures counts.
const leastTransfer = 1e-4

// links is the model of the transfers of some directions.
type links struct {
	model      model
	directions []int
	clients    []int     // of the table, by client of the model
	of         []int     // direction, by client of the model
	nominals   []float64 // median nominal rate in 10^6 bit/s, by client of the model; 1 without
	nominal    bool      // the rates of all samples are known
	why        [transferTerms]string
}

// newLinks returns the model of the transfers in some directions, each with an own factor of every
// client; nil: there are no samples.
func (t *table) newLinks(which ...int) *links {
	l := &links{nominal: true, directions: which}
	rates := map[int][]float64{} // by client of the model
	for i := range t.rows {
		for _, k := range which {
			if d := &directions[k]; t.transfers(&t.rows[i], d) && math.IsNaN(d.nominal(t.rows[i].Attempt)) {
				l.nominal = false
			}
		}
	}
	place := map[[2]int]int{}
	for _, k := range which {
		d := &directions[k]
		for i := range t.rows {
			r := &t.rows[i]
			from, free := &origin{}, -8.0
			if t.latent(r) {
				from, free = &t.origins[k][r.client], 0
			}
			bytes, seconds := d.bytes(r.Attempt)-from.bytes, d.seconds(r.Attempt)-from.mean
			if !t.transfers(r, d) || !(bytes > 0 && seconds > 0) {
				continue
			}
			c, known := place[[2]int{k, r.client}]
			if !known {
				c = len(l.clients)
				place[[2]int{k, r.client}] = c
				l.clients, l.of = append(l.clients, r.client), append(l.of, k)
			}
			rate := 1e6
			if l.nominal {
				rate *= d.nominal(r.Attempt)
			}
			rates[c] = append(rates[c], rate/1e6)
			l.model.samples = append(l.model.samples, sample{
				y: seconds, client: c, round: r.round, x: []float64{8 * bytes / rate, free / rate},
			})
		}
	}
	if len(l.model.samples) == 0 {
		return nil
	}
	l.model.clients = len(l.clients)
	for c := range l.clients {
		l.nominals = append(l.nominals, orderstat.Median(rates[c]))
	}
	l.model.terms = identify(l.model.samples, l.model.clients, transferOrder)
	if !slices.Contains(l.model.terms, burstTerm) {
		l.why[burstTerm] =
			"one size of message for each client: header factor and burst cannot be told apart; send two sizes"
		if l.model.samples[0].x[burstTerm] == 0 {
			l.why[burstTerm] = "transfers contain the latency of the link: rtt_ms is less by what a burst saves"
		}
	}
	if !l.nominal {
		l.why[wireTerm] =
			"without nominal rates only rate and header factor together are known: fill down_mbps and up_mbps"
	}
	return l
}

// The range of wire factors that headers explain: TCP over Ethernet has 1.0456, small messages more.
const (
	leastWire = 0.995
	mostWire  = 1.25
)

// checkNominal gives up the wire factor if nominal rates do not explain the transfers.
func (l *links) checkNominal() {
	f := l.model.fit(nil)
	if k := f.b[wireTerm]; l.why[wireTerm] == "" && !(k >= leastWire && k <= mostWire) {
		l.why[wireTerm] = fmt.Sprintf("transfers take %.3g times what the nominal rates imply, "+
			"more or less than headers do: the rates of clients have it", k)
	}
}

// origin is where the model of the transfers of a client begins to count: at its smallest message, and the mean of its
// times; zero: at nothing.
type origin struct {
	bytes float64
	times series  // s
	mean  float64 // likewise
}

// moved returns the mean of the times with a weight of each round, less that of all; 0 without a weight.
func (o *origin) moved(count []float64) float64 {
	sum, n := 0.0, 0.0
	for i, x := range o.times.values {
		w := weightOf(count, o.times.rounds[i])
		sum += w * (x - o.mean)
		n += w
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// latent reports whether the transfers of an attempt contain what each message takes alike: in rows by device, and
// where software polls for messages.
func (t *table) latent(r *row) bool { return t.polled || t.runs[r.run].ByDevice }

// setOrigins sets the origins of both directions.
func (t *table) setOrigins() {
	for k := range directions {
		t.origins[k] = t.originsOf(&directions[k])
	}
}

// originsOf returns the origins of transfers that contain a latency, by client: the difference to a larger message has
// none. A client with one size of message has no origin.
func (t *table) originsOf(d *direction) []origin {
	out, most := make([]origin, len(t.clients)), make([]float64, len(t.clients))
	for i := range t.rows {
		r := &t.rows[i]
		if !t.latent(r) || !t.transfers(r, d) {
			continue
		}
		o, bytes := &out[r.client], d.bytes(r.Attempt)
		most[r.client] = max(most[r.client], bytes)
		if len(o.times.values) == 0 || bytes < o.bytes {
			*o = origin{bytes: bytes}
		}
		if bytes == o.bytes {
			o.times.add(d.seconds(r.Attempt), r.round)
		}
	}
	for c := range out {
		if most[c] == out[c].bytes {
			out[c] = origin{}
		}
		out[c].mean = out[c].moved(nil) // from 0
	}
	return out
}

// fit fits the model with a weight of each round, which the origins have, too.
func (l *links) fit(t *table, count []float64) fitted {
	if !t.byDevice && !t.polled || count == nil {
		return l.model.fit(count)
	}
	m := l.model
	m.samples = slices.Clone(m.samples)
	moved := make([]float64, m.clients)
	for c := range moved {
		moved[c] = t.origins[l.of[c]][l.clients[c]].moved(count)
	}
	for i := range m.samples {
		m.samples[i].y -= moved[m.samples[i].client]
	}
	return m.fit(count)
}

// latencies returns by client what its transfers that contain a latency take beyond their bytes at the rates of a
// calibration, both ways.
func (p *plan) latencies(c *Calibration) []series {
	out := make([]series, len(p.clients))
	for i := range p.rows {
		r := &p.rows[i]
		k := &c.Clients[r.client]
		if p.latent(r) && p.origins[0][r.client].bytes > 0 && p.origins[1][r.client].bytes > 0 {
			both := r.Receive + directions[1].seconds(r.Attempt)
			out[r.client].add(both-8e-6*(r.BytesDown/k.DownMbps.Value+r.BytesUp/k.UpMbps.Value), r.round)
		}
	}
	return out
}

// transfers reports whether the transfer of an attempt can be fitted.
func (t *table) transfers(r *row, d *direction) bool {
	return d.seconds(r.Attempt) >= leastTransfer && d.bytes(r.Attempt) > 0 && !t.sharesLink(r.run, d)
}

// sharesLink reports whether the transfers of a run share a link in a direction.
func (t *table) sharesLink(run int, d *direction) bool {
	return slices.ContainsFunc(d.shared, func(key string) bool {
		switch rate := t.runs[run].Setting(key).(type) {
		case float64:
			return rate > 0
		case int64:
			return rate > 0
		default:
			return false
		}
	})
}
