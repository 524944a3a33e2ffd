package methods

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/rng"
)

// The graphs of gossip.
const (
	graphRing     = "ring"
	graphTorus    = "torus"
	graphRegular  = "random-regular"
	graphComplete = "complete"
)

// maxGraphFile is the largest number of bytes of a file of edges.
const maxGraphFile = 1 << 36

// graph is an undirected graph without loops: the neighbors of each device, in ascending
// order.
type graph [][]int32

// isGraphFile reports whether a graph is the path of a file.
func isGraphFile(graph string) bool { return strings.ContainsAny(graph, `./\`) }

// checkGraph reports a graph that is neither a path nor one of the names.
func checkGraph(c *config.Checker, graph string, names ...string) {
	if !isGraphFile(graph) && !slices.Contains(names, graph) { // the schema has no choices: a path is none
		c.OneOf("graph", graph, append(names, "the path of a file")...)
	}
}

// newGraph returns the connected graph of so many devices that the options name. Errors are
// of type config.Problem.
func newGraph(o *GossipOptions, devices int, seed uint64) (graph, error) {
	var g graph
	var err error
	switch o.Graph {
	case graphRing:
		g = grid(devices, devices)
	case graphTorus:
		width := torusWidth(devices)
		if width < 3 {
			return nil,
				config.Problem{Key: "graph", Value: o.Graph,
					Want: fmt.Sprintf(
						"must be another for %d devices: a torus needs a*b of them with a and b at least 3", devices)}
		}
		g = grid(devices, width)
	case graphComplete:
		g = complete(devices)
	case graphRegular:
		g, err = randomRegular(devices, o.Degree, seed)
	default:
		g, err = readGraph(o.Graph, devices)
	}
	if err != nil {
		return nil, err
	}
	if reached := g.reached(); reached < devices {
		return nil,
			config.Problem{Key: "graph", Value: o.Graph,
				Want: fmt.Sprintf("must be connected: from device 0, %d of %d devices are reached", reached, devices)}
	}
	return g, nil
}

// torusWidth returns the largest divisor of n that is at most its root.
func torusWidth(n int) int {
	width := 1
	for w := 2; w <= n/w; w++ {
		if n%w == 0 {
			width = w
		}
	}
	return width
}

// grid returns the torus of so many devices in rows of a width. One row is a ring.
func grid(devices, width int) graph {
	g := make(graph, devices)
	for t := range g {
		row := t - t%width
		g.join(t, row+(t+1)%width)
		if width < devices {
			g.join(t, (t+width)%devices)
		}
	}
	return g.sorted()
}

func complete(devices int) graph {
	g := make(graph, devices)
	for a := range g {
		for b := range a {
			g.join(a, b)
		}
	}
	return g.sorted()
}

// join adds an edge, unless it is there or would be a loop.
func (g graph) join(a, b int) {
	if a != b && !slices.Contains(g[a], int32(b)) {
		g[a], g[b] = append(g[a], int32(b)), append(g[b], int32(a))
	}
}

func (g graph) sorted() graph {
	for _, neighbors := range g {
		slices.Sort(neighbors)
	}
	return g
}

// reached returns how many devices have a path to device 0.
func (g graph) reached() int {
	seen, next := make([]bool, len(g)), []int32{0}
	seen[0] = true
	for i := 0; i < len(next); i++ {
		for _, b := range g[next[i]] {
			if !seen[b] {
				seen[b] = true
				next = append(next, b)
			}
		}
	}
	return len(next)
}

// weight returns the weight of an edge by Metropolis and Hastings: 1/(1 + the larger degree).
// With 1 minus the sum of its edges as the weight of a device itself, the matrix of the
// weights is symmetric and doubly stochastic.
func (g graph) weight(a, b int) float64 {
	return 1 / float64(1+max(len(g[a]), len(g[b])))
}

// mostDraws limits the draws of a random graph.
const mostDraws = 1000

// randomRegular draws a connected graph in which all devices have the same degree: it pairs
// ends of edges at random, those that may be paired (Steger, Wormald: Generating Random Regular
// Graphs Quickly, 1999), and draws again where none are left, or the graph is not connected.
func randomRegular(devices, degree int, seed uint64) (graph, error) {
	if degree >= devices || devices*degree%2 != 0 {
		return nil,
			config.Problem{Key: "degree", Value: degree,
				Want: fmt.Sprintf("must be below %d, the number of devices, and their product even", devices)}
	}
	for try := range mostDraws {
		s := rng.New(seed, rng.Graph, -1, try)
		if g, ok := drawRegular(devices, degree, &s); ok && g.reached() == devices {
			return g.sorted(), nil
		}
	}
	return nil,
		config.Problem{Key: "degree", Value: degree,
			Want: fmt.Sprintf("must be another: %d draws gave no connected graph of %d devices", mostDraws, devices)}
}

func drawRegular(devices, degree int, s *algorithms.Stream) (graph, bool) {
	g, ends := make(graph, devices), make([]int32, 0, devices*degree)
	for t := range g {
		for range degree {
			ends = append(ends, int32(t))
		}
	}
	take := func(i int) {
		ends[i] = ends[len(ends)-1]
		ends = ends[:len(ends)-1]
	}
	for misses := 0; len(ends) > 0; {
		i, k := s.IntN(len(ends)), s.IntN(len(ends))
		a, b := int(ends[i]), int(ends[k])
		if a == b || slices.Contains(g[a], int32(b)) {
			if misses++; misses > 100+len(ends)*degree { // most likely, none are left
				return nil, false
			}
			continue
		}
		misses = 0
		g.join(a, b)
		take(max(i, k))
		take(min(i, k))
	}
	return g, true
}

// readGraph reads the edges of a file: two numbers of devices a line, from 0 on; "#" begins a
// comment. Every edge is there once, or every edge in both directions.
func readGraph(path string, devices int) (graph, error) {
	fail := func(line int, want string, args ...any) (graph, error) {
		place := path
		if line > 0 {
			place = fmt.Sprintf("%s:%d", path, line)
		}
		return nil, config.Problem{Key: "graph", Value: place, Want: fmt.Sprintf(want, args...)}
	}
	f, err := input.OpenText(path, maxGraphFile)
	if err != nil {
		return fail(0, "must be a file that can be read: %v", err)
	}
	defer f.Close()
	type edge struct{ a, b int }
	at := map[edge]int{} // its line
	var edges []edge
	lines, line := bufio.NewScanner(f), 0
	for lines.Scan() {
		line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		var e edge
		var errA, errB error
		if len(fields) == 2 {
			e.a, errA = strconv.Atoi(fields[0])
			e.b, errB = strconv.Atoi(fields[1])
		}
		switch {
		case len(fields) != 2 || errA != nil || errB != nil || min(e.a, e.b) < 0 || max(e.a, e.b) >= devices:
			return fail(line, "must hold two numbers of devices from 0 to %d", devices-1)
		case e.a == e.b:
			return fail(line, "must hold two different devices")
		case at[e] > 0:
			return fail(line, "must not repeat line %d", at[e])
		}
		at[e] = line
		edges = append(edges, e)
	}
	if err := lines.Err(); err != nil {
		return fail(0, "must be a file that can be read: %v", err)
	}
	g, both, alone := make(graph, devices), 0, 0
	for _, e := range edges {
		if at[edge{e.b, e.a}] > 0 {
			both++
		} else {
			alone = at[e]
		}
		g.join(e.a, e.b)
	}
	if both > 0 && alone > 0 {
		return fail(alone, "must be there in both directions, since other edges are, or those once")
	}
	return g.sorted(), nil
}
