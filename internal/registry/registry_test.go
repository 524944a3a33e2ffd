package registry

import (
	"slices"
	"testing"
)

func TestRegistry(t *testing.T) {
	r := New[int]("things")
	if names := r.Names(); len(names) != 0 {
		t.Errorf("an empty registry has %v", names)
	}
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
		`things: "one" is registered twice`:         func() { r.Add("one", 3, true, "a number") },
		`things: factory "" needs a number`:         func() { r.Add("", 3, true, "a number") },
		`things: factory "three" needs a number`:    func() { r.Add("three", 3, false, "a number") },
		`things: factory "four" needs two, or more`: func() { r.Add("four", 4, false, "two, or more") },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %s", got, want)
				}
			}()
			add()
		}()
	}
	if x, _ := r.Lookup("one"); x != 1 || len(r.Names()) != 2 {
		t.Errorf("what was refused is known: %v, one is %d", r.Names(), x)
	}
}
