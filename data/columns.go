package data

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fedsim/config"
	"fedsim/internal/quote"
)

// Names is a list of names, in TOML a list of strings on one line, or one string. Values
// can be compared.
type Names string // each name with a line break behind it

// NamesOf returns a list of names.
func NamesOf(names ...string) Names {
	var list strings.Builder
	for _, name := range names {
		list.WriteString(name + "\n")
	}
	return Names(list.String())
}

// list returns the names.
func (n Names) list() []string {
	if n == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(n), "\n"), "\n")
}

// TypeTOML returns the type.
func (n *Names) TypeTOML() string { return "string or list of strings" }

// DecodeTOML takes a string or a list of strings without line breaks.
func (n *Names) DecodeTOML(node *config.Node, key string) config.Errors {
	list := make([]string, 1)
	var problems config.Errors
	if node.IsList() {
		problems = config.Decode(node, key, &list)
	} else {
		problems = config.Decode(node, key, &list[0])
	}
	for i, name := range list {
		list[i] = strings.ReplaceAll(name, "\n", " ") // no column has such a name
	}
	*n = NamesOf(list...)
	return problems
}

// MarshalTOML returns the list on one line.
func (n Names) MarshalTOML() ([]byte, error) {
	return []byte(config.Literal(append([]string{}, n.list()...))), nil
}

// Columns is the choice of columns of a table.
type Columns struct {
	Task, Label int      // Task is -1 if all rows are of one task
	Features    []int    // in ascending order
	Names       []string // of the features
}

// ChooseColumns chooses among the columns with the names of a header. problem is
// empty, or names a fault of column at; at is negative for the header as a whole.
func (c *Config) ChooseColumns(header []string) (chosen Columns, at int, problem string) {
	if chosen.Task, problem = findColumn(header, c.TaskColumn, "task_column; empty: all rows are of one task"); problem != "" && c.TaskColumn != "" {
		return chosen, -1, problem
	}
	if chosen.Label, problem = findColumn(header, c.LabelColumn, "label_column"); problem != "" {
		return chosen, -1, problem
	}
	keep, problem := chosen.match(header, c.Columns.list(), "columns")
	if problem != "" {
		return chosen, -1, problem
	}
	drop, problem := chosen.match(header, c.DropColumns.list(), "drop_columns")
	if problem != "" {
		return chosen, -1, problem
	}
	first := map[string]int{c.LabelColumn: chosen.Label}
	if chosen.Task >= 0 {
		first[c.TaskColumn] = chosen.Task
	}
	for column, name := range header {
		if earlier, ok := first[name]; ok && earlier != column && !drop[column] {
			return chosen, column, fmt.Sprintf("the columns %d and %d have the same name %s", earlier+1, column+1, quote.Text(name))
		}
		if column == chosen.Task || column == chosen.Label || drop[column] || c.Columns != "" && !keep[column] {
			continue
		}
		if problem := refuseName(name); problem != "" {
			return chosen, column, fmt.Sprintf("the column's name %s (to leave it out: data.drop_columns = [%s])", problem, quote.Text(name))
		}
		first[name] = column
		chosen.Features = append(chosen.Features, column)
		chosen.Names = append(chosen.Names, name)
	}
	if len(chosen.Features) == 0 {
		return chosen, -1, "the header has no features: must have columns besides task and label"
	}
	return chosen, -1, ""
}

// findColumn returns the column of a name, or -1. about is for the message.
func findColumn(header []string, name, about string) (column int, problem string) {
	if column = slices.Index(header, name); column >= 0 && name != "" {
		return column, ""
	}
	problem = fmt.Sprintf("the header has no column %s (%s)", quote.Text(name), about)
	if near := config.Nearest(name, header); near != "" {
		problem += fmt.Sprintf("; did you mean %s?", quote.Text(near))
	}
	return -1, problem
}

// match reports the columns besides task and label that one of the patterns of a key
// matches.
func (chosen *Columns) match(header, patterns []string, key string) (matched []bool, problem string) {
	matched = make([]bool, len(header))
	for _, pattern := range patterns {
		found := false
		for column, name := range header {
			if column != chosen.Task && column != chosen.Label && matches(pattern, name) {
				matched[column], found = true, true
			}
		}
		if found {
			continue
		}
		if pattern != "" && (pattern == header[chosen.Label] || chosen.Task >= 0 && pattern == header[chosen.Task]) {
			return nil, fmt.Sprintf("%s names %s, the column of the task or the label", key, quote.Text(pattern))
		}
		problem := fmt.Sprintf("no column of features is named %s (%s)", quote.Text(pattern), key)
		if near := config.Nearest(pattern, header); near != "" {
			problem += fmt.Sprintf("; did you mean %s?", quote.Text(near))
		}
		return nil, problem
	}
	return matched, ""
}

// matches reports whether a name matches a pattern, in which * stands for any text and
// every other character for itself.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	rest, found := strings.CutPrefix(name, parts[0])
	if len(parts) == 1 {
		return found && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if !found {
			return false
		}
		_, rest, found = strings.Cut(rest, part)
	}
	return found && strings.HasSuffix(rest, parts[last])
}

// refuseName returns why the name of a column or a task is invalid, or "".
func refuseName(name string) string {
	if name == "" {
		return "is empty"
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return quote.Text(name) + " must be text without control characters"
	}
	return ""
}
