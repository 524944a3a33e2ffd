package parallel

import "context"

// Await returns what compute returns, or ctx's error as soon as ctx ends. Then
// compute, which cannot be stopped, goes on for nobody until it is done; it must
// write to nothing that others look at.
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
