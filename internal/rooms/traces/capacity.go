package traces

import (
	"fmt"
	"strconv"
	"strings"

	"fedsim/engine"
)

// Capacity is which share of its capacity is left to each shared link over time, by a file of kind [Share].
type Capacity struct {
	view *View
	of   []int // by link, the server's first: the number of its trace; -1: it has all of its capacity
}

// LoadCapacity reads the file of network.shared.capacity. Call it once per scenario, as [Config.Load].
func LoadCapacity(file string) (*Set, error) {
	s, err := loadFile(file)
	if err == nil && s.kinds != Kinds(0).with(Share) {
		err = fmt.Errorf("%s: has %v: a file of network.shared.capacity must have %v alone", file, s.kinds, Share)
	}
	return s, err
}

// NewCapacity returns the capacities of a server's link, if it has one, and of cells. It fails if a trace has
// the name of another link. With wrap, traces repeat.
func NewCapacity(s *Set, file string, server bool, cells int, wrap bool) (*Capacity, error) {
	c := &Capacity{view: NewView(s, InOrder, 0, wrap), of: make([]int, 1+cells)}
	for i := range c.of {
		c.of[i] = -1
	}
	for i, name := range s.names {
		link, err := -1, error(nil)
		if number, ok := strings.CutPrefix(name, "cell-"); ok {
			if link, err = strconv.Atoi(number); err != nil || link < 0 || strconv.Itoa(link) != number {
				link = cells
			}
		} else if name != "server" || !server {
			link = cells
		}
		if link >= cells {
			return nil, fmt.Errorf("%s: device %q is no shared link of the scenario: must be %s", file, name,
				linkNames(server, cells))
		}
		c.of[1+link] = i
	}
	return c, nil
}

// linkNames lists the names of shared links.
func linkNames(server bool, cells int) string {
	var names []string
	if server {
		names = append(names, "server")
	}
	if cells > 0 {
		names = append(names, "cell-0")
	}
	text := strings.Join(names, " or ")
	if cells > 1 {
		text += fmt.Sprintf(" to cell-%d", cells-1)
	}
	return text
}

// Share implements network.Capacity.
func (c *Capacity) Share(link int, at engine.Time) (share float64, until engine.Time) {
	if of := c.of[1+link]; of >= 0 {
		return c.view.Lookup(Share, of, at)
	}
	return 1, engine.Never
}
