package data

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"fedsim/internal/tools/input"
)

// WriteCSV writes the set in the format of the source csv, with the columns "client" and
// "label" (labels -1 and +1, names of several classes, or real targets). Numbers have the
// shortest form that reads back to the same bits; classes are numbered in the order of
// their names then (see labels). Features have their names, or x1, x2 and so on. It fails if a name is
// not allowed in the header: "client", "label" or a duplicate. A generated set has a
// comment before the header.
func WriteCSV(w io.Writer, set *Set) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s as csv: %w", set.Name, err)
		}
	}()
	out := csv.NewWriter(w)
	record := make([]string, 2+set.Features)
	copy(record, []string{"client", "label"})
	taken := map[string]bool{"client": true, "label": true}
	for j := range set.Features {
		name := fmt.Sprintf("x%d", j+1)
		if len(set.FeatureNames) > 0 {
			name = set.FeatureNames[j]
		}
		if problem := input.RefuseName(name); problem != "" {
			return fmt.Errorf("the name of feature %d %s", j+1, problem)
		}
		if taken[name] {
			return fmt.Errorf("feature %d is named %q, the name of another column", j+1, name)
		}
		taken[name] = true
		record[2+j] = name
	}
	if set.Generated {
		if _, err := fmt.Fprintf(w, "%s, not measured\n", madeHere); err != nil {
			return err
		}
	}
	if err := out.Write(record); err != nil {
		return err
	}
	space := make([]float64, set.Features)
	for t := range set.Clients {
		if err := writeClient(out, set, t, record, space); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// writeClient writes the rows of a client. record and space are reusable.
func writeClient(out *csv.Writer, set *Set, client int, record []string, space []float64) error {
	task := set.Open(client)
	defer task.Close()
	record[0] = task.Name
	for i := range task.X.Rows {
		if record[1] = strconv.FormatFloat(task.Y[i], 'g', -1, 64); set.Classes != nil {
			record[1] = set.Classes[int(task.Y[i])]
		}
		for j, value := range task.X.Values(i, space) {
			record[2+j] = strconv.FormatFloat(value, 'g', -1, 64)
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	return nil
}
