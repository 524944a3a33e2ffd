package data

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
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
	Task, Label int      // Task is -1 if all rows are of one client
	Features    []int    // in ascending order
	Names       []string // of the features
}

// A HeaderProblem is a fault of a column of a header, or of the header if Column is negative.
type HeaderProblem struct {
	Column int
	Text   string
}

// ChooseColumns chooses among the columns with the names of a header. Those of index are the index of a table of
// pandas: no features unless data.columns names them. It returns all problems of the header.
func (c *Config) ChooseColumns(header, index []string) (chosen Columns, problems []HeaderProblem) {
	report := func(column int, text string) { problems = append(problems, HeaderProblem{column, text}) }
	find := func(name, about string) int {
		column := slices.Index(header, name)
		if name == "" {
			column = -1
		} else if column < 0 {
			report(-1,
				fmt.Sprintf("the header has no column %s (%s)%s", quote.Text(name), about, existing(name, header)))
		}
		return column
	}
	chosen.Task = find(c.ClientColumn, "data.client_column; empty: all rows are of one client")
	chosen.Label = find(c.LabelColumn, "data.label_column")
	match := func(patterns Names, key string) []bool {
		matched, texts := chosen.match(header, patterns.list(), key)
		for _, text := range texts {
			report(-1, text)
		}
		return matched
	}
	keep, drop := match(c.Columns, "data.columns"), match(c.DropColumns, "data.drop_columns")
	first := map[string]int{}
	if chosen.Label >= 0 {
		first[c.LabelColumn] = chosen.Label
	}
	if chosen.Task >= 0 {
		first[c.ClientColumn] = chosen.Task
	}
	for column, name := range header {
		if earlier, ok := first[name]; ok && earlier != column && !drop[column] {
			report(column,
				fmt.Sprintf("the columns %d and %d have the same name %s", earlier+1, column+1, quote.Text(name)))
			continue
		}
		if column == chosen.Task || column == chosen.Label || drop[column] || c.Columns != "" && !keep[column] {
			continue
		}
		if !keep[column] && slices.Contains(index, name) {
			continue
		}
		if problem := refuseFeature(name, keep[column]); problem != "" {
			report(column, problem)
			continue
		}
		first[name] = column
		chosen.Features = append(chosen.Features, column)
		chosen.Names = append(chosen.Names, name)
	}
	if len(chosen.Features) == 0 && len(problems) == 0 {
		report(-1, "the header has no features: must have columns besides client and label")
	}
	return chosen, problems
}

// refuseFeature returns why a column of this name cannot be a feature; empty: it can. A column that
// data.columns names is kept.
func refuseFeature(name string, kept bool) string {
	if !kept && input.PandasIndex(name) {
		return fmt.Sprintf("the column %s is an index of pandas; name it in data.columns to use it, "+
			"or in data.drop_columns to leave it out", quote.Text(name))
	}
	if problem := input.RefuseName(name); problem != "" {
		return fmt.Sprintf("the column's name %s (to leave it out: data.drop_columns = [%s])",
			problem, quote.Text(name))
	}
	return ""
}

// existing lists the columns of a header in place of one that it does not have.
func existing(name string, header []string) string {
	names := make([]string, len(header))
	for i := range header {
		names[i] = quote.Text(header[i])
	}
	text := "; there are: " + listClasses(names)
	if near := config.Nearest(name, header); near != "" {
		text += fmt.Sprintf("; did you mean %s?", quote.Text(near))
	}
	return text
}

// match reports the columns besides client and label that one of the patterns of a key
// matches, and the problems of patterns without any.
func (c *Columns) match(header, patterns []string, key string) (matched []bool, problems []string) {
	matched = make([]bool, len(header))
	other := func(column int) bool { return column != c.Task && column != c.Label }
	for _, pattern := range patterns {
		found := false
		for column, name := range header {
			if other(column) && matches(pattern, name) {
				matched[column], found = true, true
			}
		}
		if found {
			continue
		}
		if at := slices.Index(header, pattern); at >= 0 && !other(at) {
			problems = append(problems,
				fmt.Sprintf("%s names %s, the column of the client or the label", key, quote.Text(pattern)))
			continue
		}
		problems = append(problems,
			fmt.Sprintf("no column of features is named %s (%s)%s", quote.Text(pattern), key,
				existing(pattern, header)))
	}
	return matched, problems
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
