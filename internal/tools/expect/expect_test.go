package expect

import (
	"errors"
	"fmt"
	"testing"
)

// recorder records what a test reports.
type recorder struct{ errors, fatal []string }

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) { r.fatal = append(r.fatal, fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func TestOnlyWhatFailsIsReported(t *testing.T) {
	var r recorder
	NoError(&r, nil)
	That(&r, true, "true")
	Must(&r, true, "true")
	if v := Value(3, nil)(&r); v != 3 || len(r.errors)+len(r.fatal) != 0 {
		t.Errorf("value %d, reports %q, %q; want 3 and none", v, r.errors, r.fatal)
	}
	NoError(&r, errors.New("one"))
	Value(3, errors.New("two"))(&r)
	That(&r, false, "%d is wrong", 4)
	Must(&r, false, "%d, too", 5)
	if got := fmt.Sprint(r.fatal, r.errors); got != "[one two 5, too] [4 is wrong]" {
		t.Errorf("reported %s", got)
	}
}
