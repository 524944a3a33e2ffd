package command

import (
	"fmt"
	"io"
	"path/filepath"

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

// printTablePaths prints the files of tables.
func printTablePaths(out io.Writer, d *into.Directory) error {
	for _, r := range d.Tables {
		for _, file := range r.Files() {
			if _, err := fmt.Fprintf(out, "table:   %s\n", filepath.Join(d.Writer.Dir(), "tables", file.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}
