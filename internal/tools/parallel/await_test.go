package parallel

import (
	"context"
	"errors"
	"testing"

	"fedsim/internal/tools/expect"
)

func TestAwait(t *testing.T) {
	failed := errors.New("failed")
	if v, err := Await(t.Context(), func() (int, error) { return 3, failed }); v != 3 || err != failed {
		t.Errorf("%d, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun, end, ended := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		<-begun
		cancel()
	}()
	v, err := Await(ctx, func() (int, error) {
		close(begun)
		<-end // waited for, it would never come
		close(ended)
		return 3, nil
	})
	expect.That(t, v == 0 && err == context.Canceled, "%d, %v", v, err)
	close(end)
	<-ended
}
