//go:build noparquet

package attemptlog

import "fedsim/config"

// readParquet refuses the file.
func (b *builder) readParquet(path string) error {
	return config.Errors{{Place: config.Place{File: path},
		Text: "this fedsim was built without parquet (tag noparquet): write the log as csv"}}
}
