package scenario

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/rng"
)

// sampleAxis is the name of the axis of a sample. Its labels are the numbers of the points.
const sampleAxis = "sample"

// The methods of sampling.
const (
	latinHypercube = "latin-hypercube"
	randomSample   = "random"
)

// The scales of a range.
const (
	linearScale = "linear"
	logScale    = "log"
)

type sampleTable struct {
	// latin-hypercube (each range has size parts of equal length on its scale, and each part holds
	// the value of one point; McKay, Beckman and Conover 1979) or random (independent values)
	Method string `toml:"method"`
	// number of points, which all differ, from 1 to 10,000
	Size int `toml:"size" absent:"0: an error"`
	// seed of the points; it differs from the seeds of runs. The values of a key depend on the
	// seed, the size and the key's own range
	Seed uint64 `toml:"seed"`
	// numbers of the points that run, from 1, such as [3, 7]
	Points []int `toml:"points" absent:"[]: all"`
	// by settings key, a range such as { min = 1e-4, max = 1.0, scale = "log" }, or a list of
	// values with equal probabilities. scale is "linear" (default) or "log". Keys of type integer,
	// and any key with whole = true, take whole numbers
	Ranges *config.Node `toml:"ranges"`
}

func defaultSample() sampleTable { return sampleTable{Method: latinHypercube, Seed: 1} }

// Validate reports all problems of the table, except for its ranges.
func (t *sampleTable) Validate(c *config.Checker) {
	c.OneOf("method", t.Method, latinHypercube, randomSample)
	c.Require(t.Size >= 1 && t.Size <= maxRuns, "size", t.Size,
		fmt.Sprintf("must be in [1, %d]; for more points, run further samples with other seeds", maxRuns))
	for i, n := range t.Points {
		c.Require(n >= 1 && n <= max(t.Size, 1), "points", n,
			fmt.Sprintf("must be in [1, %d], the numbers of the points", max(t.Size, 1)))
		c.Require(!slices.Contains(t.Points[:i], n), "points", n, "must be there once")
	}
}

// sample is a sample of ranges, the points of an axis.
type sample struct {
	sampleTable
	at     config.Place
	ranges []sampled
}

// sampled is a key with the values it is sampled from: those of a list, or a range.
type sampled struct {
	key        config.Path
	at         config.Place
	list       []*config.Node
	min, max   float64
	log, whole bool
}

// newSample reads [experiment.sample] and returns its axis. The fields have the types of
// keys. It returns nil after a problem.
func newSample(node *config.Node, fields []config.Field, problems *config.Errors) *axis {
	s := &sample{sampleTable: defaultSample(), at: node.Place}
	var wrong config.Errors
	wrong.Merge(config.Decode(node, "experiment.sample", &s.sampleTable))
	c := config.NewChecker()
	if s.Validate(c); len(wrong) == 0 {
		for _, p := range c.Problems() {
			at := node.PlaceOf(p.Key)
			p.Key = "experiment.sample." + p.Key
			wrong.AddProblem(at, p)
		}
	}
	if s.Ranges == nil || !s.Ranges.IsTable() || len(s.Ranges.Keys()) == 0 {
		wrong.Add(node.PlaceOf("ranges"),
			`experiment.sample.ranges must have at least one key, such as "problem.lambda" = { min = 1e-4, `+
				`max = 1.0, scale = "log" }`)
	} else {
		s.readRanges(fields, &wrong)
	}
	problems.Merge(wrong)
	if len(wrong) > 0 {
		return nil
	}
	a := &axis{name: sampleAxis, sample: s}
	return a.draw(problems)
}

// readRanges reads the ranges in the order of the file.
func (s *sample) readRanges(fields []config.Field, problems *config.Errors) {
	type entry struct {
		key   config.Path
		parts []config.Assignment // min, max, scale and whole
		list  *config.Node
	}
	var entries []*entry
	of := func(key config.Path) *entry {
		if i := slices.IndexFunc(entries, func(e *entry) bool { return e.key.Equal(key) }); i >= 0 {
			return entries[i]
		}
		entries = append(entries, &entry{key: key})
		return entries[len(entries)-1]
	}
	for _, a := range assignmentsOf(s.Ranges, problems) {
		parts := []config.Assignment{a}
		if a.Value.IsTable() { // of a key that takes a table, see eitherKeys
			parts, _ = a.Value.Assignments()
			for i := range parts {
				parts[i].Path = slices.Concat(a.Path, parts[i].Path)
			}
		}
		for _, a := range parts {
			last := len(a.Path) - 1
			switch {
			case a.Value.IsList():
				if e := of(a.Path); sweptValues(a, problems) != nil {
					e.list = a.Value
				}
			case last > 0 && slices.Contains([]string{"min", "max", "scale", "whole"}, a.Path[last]):
				e := of(a.Path[:last])
				e.parts = append(e.parts, config.Assignment{Path: a.Path[last:], Value: a.Value})
			default:
				problems.Add(a.Value.Key,
					fmt.Sprintf("experiment.sample.ranges: %s: a key needs a range { min = ..., max = ... "+
						"} or a list of values", a.Path))
			}
		}
	}
	for _, e := range entries {
		switch {
		case e.list != nil && len(e.parts) > 0:
			problems.Add(e.list.Key,
				fmt.Sprintf("experiment.sample.ranges: %s has a range and a list of values: remove one", e.key))
		case e.list != nil:
			s.ranges = append(s.ranges, sampled{key: e.key, at: e.list.Place, list: e.list.Items()})
		case len(e.parts) > 0:
			if r, ok := newRange(e.key, e.parts, fields, problems); ok {
				s.ranges = append(s.ranges, r)
			}
		}
	}
}

// newRange reads the range of a key from its parts.
func newRange(key config.Path, parts []config.Assignment, fields []config.Field,
	problems *config.Errors) (r sampled, ok bool) {
	r = sampled{key: key, at: parts[0].Value.Place, min: math.NaN(), max: math.NaN()}
	ok, whole, wanted := true, true, false
	refuse := func(at config.Place, format string, args ...any) {
		ok = false
		problems.Add(at, fmt.Sprintf("experiment.sample.ranges: %s: ", key)+fmt.Sprintf(format, args...))
	}
	for _, p := range parts {
		name, value := p.Path[0], p.Value.Value()
		if name == "scale" {
			if r.log = value == logScale; !r.log && value != linearScale {
				refuse(p.Value.Place, "scale = %s: must be %q or %q", config.Literal(value), linearScale, logScale)
			}
			continue
		}
		if name == "whole" {
			is, given := value.(bool)
			if wanted = is; !given {
				refuse(p.Value.Place, "whole = %s: must be true or false", config.Literal(value))
			}
			continue
		}
		into := map[string]*float64{"min": &r.min, "max": &r.max}[name]
		switch x := value.(type) {
		case int64:
			*into = float64(x)
		case float64:
			*into, whole = x, false
		}
		if math.IsNaN(*into) || math.Abs(*into) > 1e300 {
			refuse(p.Value.Place, "%s = %s: must be a number", name, config.Literal(value))
		}
	}
	kind := typeOf(key, fields)
	kinds := strings.Split(kind, " or ")
	isInteger, isFloat := slices.Contains(kinds, "integer"), slices.Contains(kinds, "float")
	switch {
	case !ok:
		return r, false
	case math.IsNaN(r.min) || math.IsNaN(r.max):
		refuse(r.at, "a range needs both min and max")
	case kind != "" && !isInteger && !isFloat:
		refuse(r.at, "is a %s, which has no range: list its values", kind)
	case !(r.min < r.max):
		refuse(r.at, "min = %s must be less than max = %s", config.Label(r.min), config.Label(r.max))
	case r.log && r.min <= 0:
		refuse(r.at, "min = %s: must be positive on a logarithmic scale", config.Label(r.min))
	}
	r.whole = wanted || isInteger && !isFloat || kind == "" && whole
	if most := float64(int64(1) << 53); ok && r.whole &&
		(r.min != math.Trunc(r.min) || r.max != math.Trunc(r.max) || r.min < -most || r.max >= most) {
		refuse(r.at, "takes whole numbers: min and max must be whole and less than 2^53")
	}
	return r, ok
}

// typeOf returns the type of a key, empty if it is not known: that of an option that only a
// learner knows.
func typeOf(key config.Path, fields []config.Field) string {
	name := key.String()
	if i := slices.IndexFunc(fields, func(f config.Field) bool { return f.Key == name }); i >= 0 {
		return fields[i].Type
	}
	return ""
}

// drop removes a key from the sample of the axis and draws the points of the others, which
// keep their values. It returns nil without other keys, or after a problem.
func (a *axis) drop(key config.Path, at config.Place, problems *config.Errors) *axis {
	s := *a.sample
	s.ranges = slices.DeleteFunc(slices.Clone(s.ranges), func(r sampled) bool { return r.key.Equal(key) })
	if len(s.ranges) == 0 {
		return nil
	}
	s.at = at
	drawn := &axis{name: a.name, sample: &s}
	if drawn = drawn.draw(problems); drawn != nil {
		drawn.choose(a.labels())
	}
	return drawn
}

func sampledBy(axes []axis, kind func(config.Assignment) bool) (keys []config.Path) {
	for i := range axes {
		if s := axes[i].sample; s != nil {
			for _, r := range s.ranges {
				if kind(config.Assignment{Path: r.key}) {
					keys = append(keys, r.key)
				}
			}
		}
	}
	return keys
}

// dropSampled removes a key from the sample of the experiment, and the axis with its last key.
func (d *design) dropSampled(key config.Path, at config.Place, problems *config.Errors) {
	i := slices.IndexFunc(d.axes, func(a axis) bool { return a.sample != nil && a.sets(key) })
	if i < 0 {
		return
	}
	if rest := d.axes[i].drop(key, at, problems); rest != nil {
		d.axes[i] = *rest
	} else {
		d.axes = slices.Delete(d.axes, i, i+1)
	}
}

// draw draws the points of the sample and keeps those that run.
func (a *axis) draw(problems *config.Errors) *axis {
	s := a.sample
	places, ok := s.places()
	if !ok {
		problems.Add(s.at,
			fmt.Sprintf("experiment.sample: there are not %d different points in the ranges: "+
				"lower experiment.sample.size, or widen a range", s.Size))
		return nil
	}
	for i := range s.Size {
		p := point{label: strconv.Itoa(i + 1)}
		for k := range s.ranges {
			r := &s.ranges[k]
			value, _ := r.value(places[k][i], s.parts())
			p.set = append(p.set, config.Assignment{Path: r.key, Value: value})
		}
		a.points = append(a.points, p)
	}
	if len(s.Points) > 0 {
		var labels []string
		for _, n := range s.Points {
			labels = append(labels, strconv.Itoa(n))
		}
		a.choose(labels)
	}
	return a
}

// keys returns the sampled keys; nil without a sample.
func (s *sample) keys() (keys []string) {
	if s != nil {
		for i := range s.ranges {
			keys = append(keys, s.ranges[i].key.String())
		}
	}
	return keys
}

// parts returns the number of parts that a range is divided into.
func (s *sample) parts() int {
	if s.Method == latinHypercube {
		return s.Size
	}
	return 1
}

// place is where a value is on the scale of its range: at a share of one of the parts.
type place struct {
	part  int
	share float64 // in [0, 1)
}

// places draws where the values of different points are, by range and point. It fails when
// it finds no different points.
func (s *sample) places() (places [][]place, ok bool) {
	for k := range s.ranges {
		stream := s.stream(k, -1, 0)
		order := make([]int32, s.Size)
		for i := range order {
			order[i] = int32(i)
		}
		stream.Shuffle(order)
		of := make([]place, s.Size)
		for i := range of {
			if s.Method == latinHypercube {
				of[i] = place{int(order[i]), stream.Float64()}
			} else {
				own := s.stream(k, i, 0)
				of[i] = place{0, own.Float64()}
			}
		}
		places = append(places, of)
	}
	return places, s.combinations() >= float64(s.Size) && s.differ(places)
}

// combinations returns the number of points in the ranges.
func (s *sample) combinations() float64 {
	n := 1.0
	for i := range s.ranges {
		switch r := &s.ranges[i]; {
		case r.list != nil:
			n *= float64(len(r.list))
		case r.whole:
			n *= r.max - r.min + 1
		default:
			return math.Inf(1)
		}
	}
	return n
}

// differ makes equal points different: random points are drawn again, those of a Latin
// hypercube exchange a value with another point. It reports whether all differ.
func (s *sample) differ(places [][]place) bool {
	texts, points := make([]string, s.Size), map[string]int{} // number of points by text
	put := func(i int) {
		texts[i] = s.text(places, i)
		points[texts[i]]++
	}
	take := func(i int) {
		if points[texts[i]]--; points[texts[i]] == 0 {
			delete(points, texts[i])
		}
	}
	for i := range texts {
		put(i)
	}
	stream := rng.New(s.Seed, rng.Design, -2, 0)
	for attempt := 1; len(points) < s.Size; attempt++ {
		if attempt > mostAttempts {
			return false
		}
		i := slices.IndexFunc(texts, func(text string) bool { return points[text] > 1 })
		if s.Method == randomSample {
			take(i)
			for k := range s.ranges {
				own := s.stream(k, i, attempt)
				places[k][i].share = own.Float64()
			}
			put(i)
			continue
		}
		k, j, different := stream.IntN(len(s.ranges)), stream.IntN(s.Size), len(points)
		exchange := func() {
			take(i)
			take(j)
			places[k][i], places[k][j] = places[k][j], places[k][i]
			put(i)
			put(j)
		}
		if i != j {
			if exchange(); len(points) < different {
				exchange()
			}
		}
	}
	return true
}

// mostAttempts limits the changes that make points different.
const mostAttempts = 100_000

// stream returns the stream of a range, of a point and an attempt. It depends on the key and
// not on the other ranges.
func (s *sample) stream(k, point, attempt int) rng.Stream {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(s.ranges[k].key.String())) // which does not fail
	return rng.New(s.Seed^hash.Sum64(), rng.Design, point, attempt)
}

// text returns the values of a point as a text.
func (s *sample) text(places [][]place, i int) string {
	var b strings.Builder
	for k := range s.ranges {
		_, text := s.ranges[k].value(places[k][i], s.parts())
		b.WriteString(text + "\n")
	}
	return b.String()
}

// value returns the value at a place of the range, which has a number of parts, and its
// label.
func (s *sampled) value(at place, parts int) (*config.Node, string) {
	u := (float64(at.part) + at.share) / float64(parts)
	if s.list != nil {
		item := s.list[min(int(float64(u*float64(len(s.list)))), len(s.list)-1)]
		return item, config.Label(item.Value())
	}
	if s.whole {
		n := int64(math.Floor(s.at01(u, s.max+1)))
		n = min(max(n, int64(s.min)), int64(s.max))
		return config.NewScalar(n, s.at), strconv.FormatInt(n, 10)
	}
	exact := min(max(s.at01(u, s.max), s.min), s.max)
	for digits := leastDigits; ; digits++ {
		text := strconv.FormatFloat(exact, 'g', digits, 64)
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err) // it is the text of a number
		}
		if digits >= 17 || s.within(x, at.part, parts) {
			return config.NewScalar(x, s.at), config.Label(x)
		}
	}
}

// leastDigits is the number of digits to which sampled values are rounded.
const leastDigits = 4

// at01 returns the number at a share of the scale from min to most.
func (s *sampled) at01(share, most float64) float64 {
	from, to := s.scale(s.min), s.scale(most)
	x := from + float64(share*(to-from))
	if s.log {
		return elementary.Exp(x)
	}
	return x
}

// within reports whether x is within a part of the range, and not on its edge up to rounding.
func (s *sampled) within(x float64, part, parts int) bool {
	const edge = 1e-6
	if x < s.min || x > s.max {
		return false
	}
	from, to := s.scale(s.min), s.scale(s.max)
	at := float64((s.scale(x)-from)/(to-from)*float64(parts)) - float64(part)
	return at > edge && at < 1-edge
}

// scale returns a number on the scale of the range.
func (s *sampled) scale(x float64) float64 {
	if s.log {
		return elementary.Log(x)
	}
	return x
}

// resolved returns the table of the sample as a scenario has it. Axis a has the points.
func (s *sample) resolved(a *axis) *resolvedSample {
	t := &resolvedSample{Method: s.Method, Size: s.Size, Seed: s.Seed, Points: []int{}}
	if len(a.points) < s.Size {
		for _, p := range a.points {
			n, err := strconv.Atoi(p.label)
			if err != nil {
				panic(err) // labels are numbers
			}
			t.Points = append(t.Points, n)
		}
	}
	for i := range s.ranges {
		r := &s.ranges[i]
		if r.list != nil {
			t.Ranges = append(t.Ranges, config.Assignment{Path: r.key, Value: config.NewList(r.list, config.Place{})})
			continue
		}
		table := config.NewTable(config.Place{})
		for _, part := range r.fields() {
			if err := table.Set(config.Path{part.name}, config.NewScalar(part.value, config.Place{})); err != nil {
				panic(err) // the path is not empty
			}
		}
		t.Ranges = append(t.Ranges, config.Assignment{Path: r.key, Value: table})
	}
	return t
}

// rangePart is a key of a range.
type rangePart struct {
	name, kind, doc string
	value           any
	choices         []string
}

// fields lists the keys of a range.
func (s *sampled) fields() []rangePart {
	least, most, scale := any(s.min), any(s.max), linearScale
	if s.whole {
		least, most = int64(s.min), int64(s.max)
	}
	if s.log {
		scale = logScale
	}
	return []rangePart{
		{"min", "float", "least value", least, nil},
		{"max", "float", "largest value", most, nil},
		{"scale", "string", "scale of the range", scale, []string{linearScale, logScale}},
		{"whole", "boolean", "whole numbers only", s.whole, nil},
	}
}

// oncePerRange returns the problems with only the first of each range, which has many values.
func (d *design) oncePerRange(problems config.Errors) config.Errors {
	seen := map[config.Place]bool{}
	return slices.DeleteFunc(problems, func(l config.Located) bool {
		inRange := slices.ContainsFunc(d.axes, func(a axis) bool {
			return a.sample != nil &&
				slices.ContainsFunc(a.sample.ranges, func(r sampled) bool { return r.list == nil && r.at == l.Place })
		})
		again := inRange && seen[l.Place]
		seen[l.Place] = true
		return again
	})
}

// fields lists the keys that overrides of the sample reach.
func (s *sample) fields() []config.Field {
	fields := config.Fields(&s.sampleTable)
	for i := range s.ranges {
		r := &s.ranges[i]
		key := "ranges." + config.Path{r.key.String()}.String()
		if r.list != nil {
			values := config.NewList(r.list, config.Place{}).Value()
			fields = append(fields,
				config.Field{Key: key, Type: "list of values", Default: config.Literal(values),
					Doc: "values that are sampled"})
			continue
		}
		for _, p := range r.fields() {
			fields = append(fields,
				config.Field{Key: key + "." + p.name, Type: p.kind, Default: config.Literal(p.value), Doc: p.doc,
					Choices: p.choices})
		}
	}
	return fields
}

// resolvedSample is [experiment.sample] as a scenario is written back.
type resolvedSample struct {
	Method string             `toml:"method"`
	Size   int                `toml:"size"`
	Seed   uint64             `toml:"seed"`
	Points []int              `toml:"points,omitempty"`
	Ranges config.InlineTable `toml:"ranges"`
}
