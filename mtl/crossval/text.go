package crossval

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// heading is the first line of a table.
func (r *Result) heading() string {
	if r.Title == "" {
		return r.Name
	}
	return r.Name + ": " + r.Title
}

// caption says what the figures are.
func (r *Result) caption() string {
	repetitions := "of one shuffle"
	if r.Shuffles > 1 {
		repetitions = fmt.Sprintf("over %d shuffles, standard error in brackets", r.Shuffles)
	}
	return fmt.Sprintf("Mean over tasks of the error on test rows, %s; lambda by %d-fold cross-validation on the training rows.", repetitions, r.Folds)
}

// measure names the unit of a column.
func (c *Column) measure() string {
	if c.Real {
		return "root mean square error"
	}
	return "percent"
}

// head names a column; generated rows are never taken for measured ones.
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

// note says where the rows of a column come from.
func (c *Column) note() string {
	text := fmt.Sprintf("%s: %s; %d tasks", c.Label, c.Source, c.Tasks)
	if c.Generated && c.published() {
		text += "; the paper's figures are of other data"
	}
	return text
}

func (c *Column) published() bool {
	for i := range c.Models {
		if c.Models[i].Paper != nil {
			return true
		}
	}
	return false
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

// figure writes a mean with its standard error.
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

// cells returns the rows below the head: a model's name, and for each column
// what was measured and what the paper has, empty where nothing was published.
func (r *Result) cells() [][]string {
	rows := make([][]string, len(r.Models))
	for i, name := range r.Models {
		rows[i] = []string{title(name)}
		for k := range r.Columns {
			c := &r.Columns[k]
			m := &c.Models[i]
			paper := ""
			if m.Paper != nil {
				paper = c.figure(m.Paper.Mean, m.Paper.StandardError)
			}
			rows[i] = append(rows[i], c.figure(m.Mean, m.StandardError), paper)
		}
	}
	return rows
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

// WriteText writes the table as aligned text.
func (r *Result) WriteText(w io.Writer) error {
	rows := [][]string{{"model"}}
	for range r.Columns {
		rows[0] = append(rows[0], "here", "paper")
	}
	rows = append(rows, r.cells()...)
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	above := pad("", width[0])
	for k := range r.Columns { // a head stands above both columns of its set
		head := r.Columns[k].head()
		width[2+2*k] = max(width[2+2*k], utf8.RuneCountInString(head)-width[1+2*k]-2)
		above += "    " + pad(head, width[1+2*k]+2+width[2+2*k])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n  %s\n", r.heading(), r.caption(), strings.TrimRight(above, " "))
	for _, row := range rows {
		line := pad(row[0], width[0])
		for k := range r.Columns {
			line += "    " + pad(row[1+2*k], width[1+2*k]) + "  " + pad(row[2+2*k], width[2+2*k])
		}
		fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, " "))
	}
	b.WriteByte('\n')
	for i := range r.Columns {
		fmt.Fprintf(&b, "%s\n", r.Columns[i].note())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pad fills text up with blanks.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", width-utf8.RuneCountInString(text))
}

// WriteMarkdown writes the table as Markdown, the lowest error of each column in
// bold.
func (r *Result) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n| Model |", escape(r.heading()), r.caption())
	rule := "| :-- |"
	for i := range r.Columns {
		fmt.Fprintf(&b, " %s | paper |", escape(r.Columns[i].head()))
		rule += " --: | --: |"
	}
	b.WriteString("\n" + rule + "\n")
	for i, row := range r.cells() {
		for k := range r.Columns {
			if r.Columns[k].best() == i {
				row[1+2*k] = "**" + row[1+2*k] + "**"
			}
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	b.WriteByte('\n')
	for i := range r.Columns {
		fmt.Fprintf(&b, "* %s\n", escape(r.Columns[i].note()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escape takes its meaning from what would be mark-up.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`).Replace(text)
}
