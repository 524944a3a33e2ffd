// Package formats has the numbers of the formats of files that later versions of fedsim read.
//
// It must not know the files.
package formats

import "fmt"

// Every format is 1 in fedsim 1.0.0. Readers find fields and columns by name: they ignore those that
// they do not know, and values that are absent are unknown. So a new field or column does not change
// the number. A change that a reader must not ignore raises it, and later versions read both.
const (
	RunDirectory = 1 // manifest.json, and the files that it lists
	Unfinished   = 1 // the log in the folder .unfinished, and the states of a plan
	Plan         = 1 // plan.json, and its directory
	Calibration  = 1 // calibration.json
)

// Check reports a file of another format than want, as the program of a version wrote it; nil: the file
// does not say which. Such a file may be of a program before 1.0.0, whatever its number.
func Check(format, want int, version *string) error {
	switch {
	case version == nil:
		return fmt.Errorf("it does not say which fedsim wrote it, as files of fedsim 1.0.0 and later do")
	case format != want:
		return fmt.Errorf("format = %d: must be %d, the one that this version of fedsim reads: fedsim %s wrote it",
			format, want, *version)
	}
	return nil
}
