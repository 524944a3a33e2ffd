package data

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func TestTargets(t *testing.T) {
	texts := []string{"bus", "car", "tram"}
	for _, c := range []struct {
		name     string
		target   string
		positive string
		classes  []string // of the file
		y        []float64
		want     []float64
		names    []string
		signs    [2]string
		problem  string
	}{
		{"two numbers", TargetClass, "", nil, []float64{0, 1, 0}, []float64{-1, 1, -1}, nil, [2]string{"0", "1"}, ""},
		{"the smaller is negative", TargetClass, "", nil, []float64{7, 2, 7}, []float64{1, -1, 1}, nil,
			[2]string{"2", "7"}, ""},
		{"the other one", TargetClass, "2", nil, []float64{7, 2, 7}, []float64{-1, 1, -1}, nil, [2]string{"7", "2"},
			""},
		{"one against the rest", TargetClass, "car", texts, []float64{0, 1, 2, 1}, []float64{-1, 1, -1, 1}, nil,
			[2]string{"the rest", "car"}, ""},
		{"numbers as classes", TargetClasses, "", nil, []float64{10, 2, -1, 2}, []float64{2, 1, 0, 1},
			[]string{"-1", "2", "10"}, [2]string{}, ""},
		{"texts as classes", TargetClasses, "", texts, []float64{2, 0}, []float64{2, 0}, texts, [2]string{}, ""},
		{"numbers", TargetReal, "", nil, []float64{0.5, 3}, []float64{0.5, 3}, nil, [2]string{}, ""},
		{"three labels", TargetClass, "", nil, []float64{1, 2, 3}, nil, nil, [2]string{},
			`f.csv: has 3 classes (1, 2, 3): data.positive_class must name one of them, or data.target be "classes"`},
		{"unknown class", TargetClass, "cat", texts, []float64{0, 1}, nil, nil, [2]string{},
			`f.csv: has no class "cat" (data.positive_class), it has bus, car, tram (did you mean "car"?)`},
		{"no row of it", TargetClass, "tram", texts, []float64{0, 1}, nil, nil, [2]string{},
			`f.csv: with "tram" as the positive class (data.positive_class): all labels are of one class`},
		{"one label", TargetClasses, "", nil, []float64{4, 4}, nil, nil, [2]string{},
			`f.csv: cannot be learned from: all labels are of one class`},
		{"one target", TargetReal, "", nil, []float64{4, 4}, nil, nil, [2]string{},
			`f.csv: cannot be learned from: all targets are the same number`},
		{"texts as numbers", TargetReal, "", texts, []float64{0, 1}, nil, nil, [2]string{},
			`f.csv: has labels (bus, car, tram), not numbers: data.target must be "class" or "classes"`},
	} {
		set := &Set{Name: "f", Classes: c.classes, Clients: []Client{{Y: c.y}}}
		err := (&Config{Target: c.target, PositiveClass: c.positive}).setTarget(set, "f.csv")
		if c.problem != "" {
			expect.That(t, err != nil && err.Error() == c.problem, "%s:\n got %v\nwant %s", c.name, err, c.problem)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, set.Clients[0].Y); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.names, set.Classes); diff != "" || set.Signs != c.signs ||
			set.Real != (c.target == TargetReal) {
			t.Errorf("%s: signs %q, real %v, classes %s", c.name, set.Signs, set.Real, diff)
		}
	}
}

// More labels than classes can be are taken for numbers.
func TestManyLabelsAreNumbers(t *testing.T) {
	y := make([]float64, mostClasses+1)
	for i := range y {
		y[i] = float64(i)
	}
	set := &Set{Clients: []Client{{Y: y}}}
	err := (&Config{Target: TargetClasses}).setTarget(set, "f.csv")
	expect.That(t, err != nil && strings.Contains(err.Error(), "has more than 4096 different labels"), "%v", err)
}
