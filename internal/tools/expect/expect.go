// Package expect states what a test requires, a line for each.
package expect

// T is a testing.TB or a rapid.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// NoError ends the test if err is an error.
func NoError(t T, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Value returns the value of a call, and ends the test if the call fails:
// expect.Value(os.ReadDir(folder))(t).
func Value[V any](value V, err error) func(T) V {
	return func(t T) V {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return value
	}
}

// That reports an error of the test unless it is true.
func That(t T, ok bool, format string, args ...any) {
	if !ok {
		t.Helper() // it takes longer than the comparison
		t.Errorf(format, args...)
	}
}

// Must ends the test unless it is true.
func Must(t T, ok bool, format string, args ...any) {
	if !ok {
		t.Helper() // it takes longer than the comparison
		t.Fatalf(format, args...)
	}
}
