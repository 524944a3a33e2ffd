package crossval

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/columns"
)

// heading returns the title line of a table.
func (r *Result) heading() string {
	if r.Title == "" {
		return r.Name
	}
	return r.Name + ": " + r.Title
}

// caption describes the numbers of a table.
func (r *Result) caption() string {
	repetitions := "one shuffle"
	if r.Shuffles > 1 {
		repetitions = fmt.Sprintf("over %d shuffles, standard error in parentheses", r.Shuffles)
	}
	return fmt.Sprintf("Mean over tasks of the error on test rows, %s. Lambda is chosen by %d-fold cross-validation on the training rows.", repetitions, r.Folds)
}

// measure returns the unit of a column.
func (c *Column) measure() string {
	if c.Real {
		return "root mean square error"
	}
	return "percent"
}

// head returns the title of a column. It marks generated rows.
func (c *Column) head() string {
	text := c.Label
	if c.Generated {
		text += " (generated)"
	}
	if c.Real {
		text += ", RMSE"
	} else {
		text += ", %"
	}
	return text
}

// note describes the origin of the rows of a column.
func (c *Column) note() string {
	text := fmt.Sprintf("%s: %s; %d tasks", c.Label, c.Source, c.Tasks)
	if c.Generated && c.published() {
		text += "; the paper uses other data"
	}
	return text
}

// published reports whether there is a published error of any model.
func (c *Column) published() bool {
	return slices.ContainsFunc(c.Models, func(m ModelError) bool { return m.Paper != nil })
}

// best returns the index of the model with the lowest error.
func (c *Column) best() int {
	best := 0
	for i := range c.Models {
		if c.Models[i].Mean < c.Models[best].Mean {
			best = i
		}
	}
	return best
}

// figure formats a mean with its standard error.
func (c *Column) figure(mean, standardError float64) string {
	format := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	if c.Real {
		format = func(v float64) string { return fmt.Sprintf("%.4g", v) }
	}
	if math.IsNaN(standardError) {
		return format(mean)
	}
	return fmt.Sprintf("%s (%s)", format(mean), format(standardError))
}

// table lays out the errors: a row for each model, and for each data set a column with
// the measured error and one with the published error, empty where there is none.
func (r *Result) table() *columns.Table {
	rows := make([][]string, len(r.Models))
	for i, name := range r.Models {
		rows[i] = []string{title(name)}
	}
	t := &columns.Table{Label: "model"}
	for k := range r.Columns {
		c := &r.Columns[k]
		t.Groups = append(t.Groups, columns.Group{Title: c.head(), Heads: []string{"fedsim", "paper"}})
		for i := range rows {
			m, paper := &c.Models[i], ""
			if m.Paper != nil {
				paper = c.figure(m.Paper.Mean, m.Paper.StandardError)
			}
			rows[i] = append(rows[i], c.figure(m.Mean, m.StandardError), paper)
		}
	}
	t.Blocks = []columns.Block{{Rows: rows, Bold: func(row, cell int) bool {
		return cell%2 == 1 && r.Columns[cell/2].best() == row
	}}}
	return t
}

// notes returns a sentence about each data set.
func (r *Result) notes() []string {
	notes := make([]string, len(r.Columns))
	for i := range r.Columns {
		notes[i] = r.Columns[i].note()
	}
	return notes
}

// title returns a model's name in the paper's tables.
func title(model string) string {
	for _, m := range models {
		if m.name == model {
			return m.title
		}
	}
	return model
}

// Text returns the table as aligned text with at most width characters a line.
func (r *Result) Text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", columns.Wrap(r.heading(), width, 0), columns.Wrap(r.caption(), width, 0))
	r.table().Write(&b, width)
	b.WriteByte('\n')
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "%s\n", columns.Wrap(note, width, 0))
	}
	return b.String()
}

// WriteMarkdown writes the table as Markdown, with the lowest error of each data set in
// bold.
func (r *Result) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", columns.Markdown(r.heading()), r.caption())
	t := r.table()
	t.Blocks[0].Notes = r.notes()
	t.WriteMarkdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}
