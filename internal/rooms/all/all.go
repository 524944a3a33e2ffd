// Package all is the list of rooms. The order of the list is that of their columns: new rooms come last.
package all

import (
	"fedsim/internal/rooms/carbon"
	"fedsim/results"
)

func init() {
	for _, columns := range []*results.Declared{
		carbon.Columns,
	} {
		results.Declare(columns)
	}
}
