package parallel

import "context"

// Await returns the results of compute, or ctx's error as soon as ctx ends. It cannot
// stop compute, which then runs to its end in the background, and so must not write to
// memory that other goroutines read.
func Await[V any](ctx context.Context, compute func() (V, error)) (V, error) {
	type result struct {
		value V
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := compute()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}
