//go:build !amd64 || purego

package kernel

// withoutVectors does nothing: there are none.
func withoutVectors() (restore func()) { return func() {} }

// withoutWideVectors does nothing likewise.
func withoutWideVectors() (restore func()) { return func() {} }
