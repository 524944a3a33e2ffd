package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/network"
	"fedsim/results"
)

// SharedLink is a link of [network.shared] that transfers of responses which ended rounds had to share.
type SharedLink struct {
	Link    string  `json:"link"`     // such as "uplink of cell 3"
	Mbps    float64 `json:"mbps"`     // its capacity; 0: a cell of airtime, whose devices have their own rates
	Rounds  int     `json:"rounds"`   // that ended with a response which it delayed
	LongerS float64 `json:"longer_s"` // by so much: than these transfers alone
	Busy    float64 `json:"busy"`     // share of the time of the run that the bytes of all devices take it, alone

	busyS, nowS float64 // in the run, and in the round
}

// sharing attributes delays to shared links: in a round, to the one of the server and the cell of a
// device that its bytes keep busy for longer.
type sharing struct {
	usual *usual
	links []SharedLink
	of    func(way network.Direction, client int) []int // shared links of a transfer, by index in links
}

// newSharing returns nil if no link is shared.
func newSharing(r *Report) *sharing {
	s := &r.Run.Settings.Network
	if !s.SharesLinks() {
		return nil
	}
	h := &sharing{usual: usualTimes(r, nil)}
	if h.usual == nil {
		return nil
	}
	add := func(name string, mbps float64) int {
		if mbps == 0 && !(s.SharesAirtime() && strings.Contains(name, "cell")) {
			return -1
		}
		h.links = append(h.links, SharedLink{Link: name, Mbps: mbps})
		return len(h.links) - 1
	}
	var server, cells [2]int
	for way, x := range [2]struct {
		name         string
		server, cell float64
	}{
		network.Down: {"downlink of ", s.ServerDownMbps, s.CellDownMbps},
		network.Up:   {"uplink of ", s.ServerUpMbps, s.CellUpMbps},
	} {
		server[way], cells[way] = add(x.name+"the server", x.server), -1
		for c := range s.Cells {
			if at := add(fmt.Sprintf("%scell %d", x.name, c), x.cell); c == 0 {
				cells[way] = at
			}
		}
	}
	var list [2]int
	h.of = func(way network.Direction, client int) []int {
		all := list[:0]
		if server[way] >= 0 {
			all = append(all, server[way])
		}
		if cells[way] >= 0 {
			all = append(all, cells[way]+client%s.Cells)
		}
		return all
	}
	return h
}

// notable is the least share of a round by which a delay counts as one: jitter varies transfers, too.
const notable = 0.02

// add adds a round.
func (h *sharing) add(x *RoundAnalysis, rows []results.DeviceRow) {
	for i := range h.links {
		h.links[i].nowS = 0
	}
	for client := range rows {
		for way, bytes := range [2]float64{network.Down: rows[client].BytesDown, network.Up: rows[client].BytesUp} {
			for _, i := range h.of(network.Direction(way), client) {
				l := &h.links[i]
				mbps := l.Mbps
				if mbps == 0 {
					mbps = h.usual.Links().Mbps(network.Direction(way), client)
				}
				s := 8e-6 * h.usual.Links().Timed(client, bytes) / mbps
				l.nowS, l.busyS = l.nowS+s, l.busyS+s
			}
		}
	}
	if x.Device < 0 {
		return
	}
	row, most := &rows[x.Device], 0.0
	for way, longer := range [2]float64{network.Down: row.DownSharedS, network.Up: row.UpSharedS} {
		of := h.of(network.Direction(way), int(x.Device))
		if len(of) == 0 || longer < float64(notable*x.LengthS) {
			continue
		}
		l := &h.links[slices.MaxFunc(of, func(i, j int) int { return cmp.Compare(h.links[i].nowS, h.links[j].nowS) })]
		l.Rounds++
		l.LongerS += longer
		if longer > most {
			most, x.Link = longer, l.Link
		}
	}
}

// finish returns the links that delayed rounds, the worst first.
func (h *sharing) finish(timeS float64) []SharedLink {
	found := slices.DeleteFunc(h.links, func(l SharedLink) bool { return l.Rounds == 0 })
	for i := range found {
		found[i].Busy = math.Min(1, share(found[i].busyS, timeS))
	}
	slices.SortStableFunc(found, func(a, b SharedLink) int { return cmp.Compare(b.LongerS, a.LongerS) })
	return found
}
