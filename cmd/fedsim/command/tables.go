package command

import (
	"fmt"
	"io"

	"fedsim/experiment/into"
)

// dataFolder is the environment variable with the folder of data files.
const dataFolder = "FEDSIM_DATA"

// printTables prints tables, each after a blank line; the first only if below is true.
func printTables(out io.Writer, made []*into.Table, below bool) error {
	for _, r := range made {
		if below {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := r.WriteText(out, textWidth()); err != nil {
			return err
		}
		below = true
	}
	return nil
}
