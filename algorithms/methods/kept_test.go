package methods

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// heldBy counts the vectors in slots that a method reaches.
func heldBy(v reflect.Value, seen map[unsafe.Pointer]bool) (n int) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.UnsafePointer()] || !strings.HasPrefix(v.Type().Elem().PkgPath(), "fedsim/algorithms") {
			return 0
		}
		seen[v.UnsafePointer()] = true
		if v.Type() == reflect.TypeFor[*algorithms.Slots]() {
			for k := range reflect.Indirect(v).FieldByName("of").Len() {
				if (*algorithms.Slots)(v.UnsafePointer()).Has(k) {
					n++
				}
			}
			return n
		}
		return heldBy(v.Elem(), seen)
	case reflect.Interface:
		return heldBy(v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			n += heldBy(v.Field(i), seen)
		}
	}
	return n
}

// No method keeps more vectors by client than Workload says: those of clients at work, and Kept for each
// client. The estimate of memory counts so many.
func TestVectorsThatStayAreDeclared(t *testing.T) {
	t.Parallel()
	kept := 0
	for _, name := range learningMethods() {
		f, _ := algorithms.Lookup(name)
		o := f.Options()
		if _, local := o.(kit.LocalOptions); !local || f.Describe(o, mtl.Shape{}).Needs.Dual ||
			name == "mb-sgd" || name == "fedem" {
			continue
		}
		p := countingProblem(t, countingModel{})
		a := startWith(t, name, algorithms.Setup{Problem: p, HubSize: 2, Gathers: name == "fedcompass"},
			func(o algorithms.Options) { o.(kit.LocalOptions).Local().Batch = 2 })
		about, most := describe(name, p.Shape), 0
		note := func() { most = max(most, heldBy(reflect.ValueOf(a), map[unsafe.Pointer]bool{})) }
		if about.Asynchronous == algorithms.Yes && about.Model == algorithms.Versions {
			c := newCourse(a, p, random(1, 8))
			c.begin()
			for range 40 {
				note()
				c.next()
			}
		}
		if !(about.Asynchronous == algorithms.Yes && about.Model == algorithms.Versions) {
			for h := range 4 {
				round(noted{a, note}, p, h, algorithms.NoLimit, func(int) bool { return true })
			}
		}
		if limit := (about.Work.Kept + about.Work.Working + max(1, about.Work.Vectors)) * p.Clients(); most > limit {
			t.Errorf("%s: has %d vectors of %d clients at once, want at most %d by Workload.Kept = %d and Working = %d",
				name, most, p.Clients(), limit, about.Work.Kept, about.Work.Working)
		}
		if kept += about.Work.Kept; most == 0 && name != "hierfavg" {
			t.Errorf("%s: has no vectors: the test shows nothing", name)
		}
	}
	expect.That(t, kept != 0, "no method keeps vectors")
}

// noted calls note before each commit.
type noted struct {
	algorithms.Algorithm
	note func()
}

func (n noted) Commit(device int, weight float64) {
	n.note()
	n.Algorithm.Commit(device, weight)
}

func (n noted) End() (float64, error) {
	n.note()
	return n.Algorithm.End()
}
