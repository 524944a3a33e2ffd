package registry

import (
	"fmt"
	"slices"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

func TestRegistry(t *testing.T) {
	r := New[int]("shapes", "shape")
	names := r.Names()
	expect.That(t, len(names) == 0, "an empty registry has %v", names)
	r.Add("two", 2, true, "a number")
	r.Add("one", 1, true, "a number")
	if got := r.Names(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("names %v, want them in order", got)
	}
	if x, ok := r.Lookup("two"); !ok || x != 2 {
		t.Errorf("two is %d, %t", x, ok)
	}
	if x, ok := r.Lookup("Two"); ok || x != 0 {
		t.Errorf("Two is %d, %t: names are compared with case", x, ok)
	}
	for want, add := range map[string]func(){
		`shapes: shape "one" is registered twice`: func() {
			r.Add("one", 3, true, "a number")
		},
		`shapes: shape "" needs a number`: func() {
			r.Add("", 3, true, "a number")
		},
		`shapes: the name of shape "Two" must be lower case letters and digits, joined by hyphens`: func() {
			r.Add("Two", 2, true, "a number")
		},
		`shapes: the name of shape "my_two" must be lower case letters and digits, joined by hyphens`: func() {
			r.Add("my_two", 2, true, "a number")
		},
		`shapes: the name of shape "two-" must be lower case letters and digits, joined by hyphens`: func() {
			r.Add("two-", 2, true, "a number")
		},
		`shapes: shape "three" needs a number`: func() {
			r.Add("three", 3, false, "a number")
		},
		`shapes: shape "four" needs two, or more`: func() {
			r.Add("four", 4, false, "two, or more")
		},
	} {
		func() {
			defer func() {
				got := recover()
				expect.That(t, got == want, "panic %v, want %s", got, want)
			}()
			add()
		}()
	}
	if x, _ := r.Lookup("one"); x != 1 || len(r.Names()) != 2 {
		t.Errorf("a refused value is registered: %v, one is %d", r.Names(), x)
	}
}

// picky is options with something wrong.
type picky struct{}

func (picky) Validate(c *config.Checker) { c.Require(false, "size", 3, "must be even") }

func TestCheck(t *testing.T) {
	none, some := New[int]("shapes", "shape"), New[int]("shapes", "shape")
	some.Add("long", 1, true, "a number")
	some.Add("short", 2, true, "a number")
	for _, c := range []struct {
		r       *Registry[int]
		model   string
		options any
		want    []string
		choices []string
	}{
		{none, "", nil, nil, []string{""}},
		{none, "long", nil,
			[]string{`x.model = "long": must be left out: no such model is linked into this program (docs/extend.md)`},
			[]string{""}},
		{some, "", nil, nil, []string{"", "long", "short"}},
		{some, "short", nil, nil, []string{"", "long", "short"}},
		{some, "shrt", nil, []string{`x.model = "shrt": must be one of long, short (did you mean "short"?)`},
			[]string{"", "long", "short"}},
		{some, "long", picky{}, []string{"x.model_options.size = 3: must be even"}, []string{"", "long", "short"}},
		{some, "long", map[string]any{"size": 3}, nil, []string{"", "long", "short"}}, // not decoded yet
	} {
		check := config.NewChecker()
		c.r.Check(check.In("x"), c.model, c.options)
		got := fmt.Sprint(check.Problems())
		expect.That(t, got == fmt.Sprint(c.want), "%q: %s, want %s", c.model, got, c.want)
		names := check.Choices()["x.model"]
		expect.That(t, slices.Equal(names, c.choices), "%q: choices %q, want %q", c.model, names, c.choices)
	}
}

// A catalog keeps its order, and All is a copy.
func TestCatalog(t *testing.T) {
	c := NewCatalog(func(s *string) string { return (*s)[:1] }, "b2", "a1")
	c.All()[0] = "c3"
	if names := c.Names(); !slices.Equal(names, []string{"b", "a"}) {
		t.Errorf("names %q", names)
	}
	if x, ok := c.Lookup("b"); x != "b2" || !ok {
		t.Errorf("b is %q, %t", x, ok)
	}
	if x, ok := c.Lookup("c"); x != "" || ok {
		t.Errorf("c is %q, %t", x, ok)
	}
}
