package crossval

import (
	"encoding/csv"
	"io"
	"strconv"

	"fedsim/internal/tools/columns"
)

// File is an output file of a table.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Files returns the output files of a table: NAME.md and NAME.csv hold the mean errors.
// NAME-shuffles.csv holds the error of each shuffle, its lambda and the cross-validated
// error of every candidate lambda.
func (r *Result) Files() []File {
	return []File{
		{r.Name + ".csv", r.writeSummary},
		{r.Name + "-shuffles.csv", r.writeShuffles},
		{r.Name + ".md", r.WriteMarkdown},
	}
}

// writeSummary writes a row for each set and model. Missing values are empty cells.
func (r *Result) writeSummary(w io.Writer) error {
	rows := [][]string{{"set", "source", "generated", "model", "measure", "mean", "standard_error", "shuffles", "paper_mean", "paper_standard_error"}}
	for i := range r.Columns {
		c := &r.Columns[i]
		for k := range c.Models {
			m := &c.Models[k]
			row := []string{c.Label, c.Source, strconv.FormatBool(c.Generated), m.Name, c.measure(),
				columns.Exact(m.Mean), columns.Exact(m.StandardError), strconv.Itoa(len(m.Shuffles)), "", ""}
			if m.Paper != nil {
				row[8], row[9] = columns.Exact(m.Paper.Mean), columns.Exact(m.Paper.StandardError)
			}
			rows = append(rows, row)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// writeShuffles writes a row for each set, model and shuffle.
func (r *Result) writeShuffles(w io.Writer) error {
	head := []string{"set", "generated", "model", "seed", "lambda", "error"}
	var rows [][]string
	for i := range r.Columns {
		c := &r.Columns[i]
		for k := range c.Models {
			for _, s := range c.Models[k].Shuffles {
				row := []string{c.Label, strconv.FormatBool(c.Generated), c.Models[k].Name,
					strconv.FormatUint(s.Seed, 10), columns.Exact(s.Lambda), columns.Exact(s.Error)}
				for _, e := range s.Validation {
					row = append(row, columns.Exact(e))
				}
				if len(rows) == 0 {
					for _, l := range s.Lambdas {
						head = append(head, "validation_"+columns.Exact(l))
					}
					rows = append(rows, head)
				}
				rows = append(rows, row)
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
