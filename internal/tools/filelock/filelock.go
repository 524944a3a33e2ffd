//go:build !js

// Package filelock locks files against other processes; in a web page, against the rest of the program.
//
// It must not know why.
package filelock

import "github.com/gofrs/flock"

// Lock is a lock on a file, see [flock.Flock].
type Lock = flock.Flock

// New returns a lock on the file at a path, which is not locked yet. SetFlag and SetPermissions are its options: how
// the file is opened, and created.
var (
	New            = flock.New
	SetFlag        = flock.SetFlag
	SetPermissions = flock.SetPermissions
)
