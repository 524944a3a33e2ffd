package whatif

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fedsim/config"
)

// Change is settings of a scenario that are tried together.
type Change struct {
	Label string   `json:"label"` // its first settings, as few as tell it from the others
	Set   []string `json:"set"`   // KEY=VALUE each
	read  []config.Assignment
}

// nextKey finds a comma after which another setting begins.
var nextKey = regexp.MustCompile(`^,\s*[A-Za-z0-9_."-]+\s*=`)

// split returns the settings of "KEY=VALUE,KEY=VALUE". Commas of lists, tables and texts separate none.
func split(text string) (list []string) {
	depth, quote, from := 0, byte(0), 0
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0 && nextKey.MatchString(text[i:]):
			list, from = append(list, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(list, strings.TrimSpace(text[from:]))
}

// Changes reads changes, each of them "KEY=VALUE,KEY=VALUE", and labels them.
func Changes(texts []string) ([]Change, error) {
	var all []Change
	var problems config.Errors
	most := 0
	for _, text := range texts {
		c := Change{Set: split(text)}
		for _, set := range c.Set {
			a, err := config.ParseOverride(set)
			if err != nil {
				problems.Merge(err.(config.Errors))
				continue
			}
			if key := a.Path.String(); key == "run.seeds" || key == "run.mode" || key == "run.devices" {
				problems.Add(a.Value.Place, "cannot be changed: changes run in timing mode, under the same seeds")
			}
			c.read = append(c.read, a)
		}
		most, all = max(most, len(c.Set)), append(all, c)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	for n := 1; n <= most; n++ {
		labels := make([]string, len(all))
		for i := range all {
			labels[i] = all[i].label(n)
			all[i].Label = labels[i]
		}
		if slices.Sort(labels); len(slices.Compact(labels)) == len(all) {
			return all, nil
		}
	}
	for i := range all {
		for j := range i {
			if all[i].Label == all[j].Label {
				return nil, fmt.Errorf("--set %s: is there twice: changes must differ", texts[i])
			}
		}
	}
	return all, nil
}

// label returns the first settings, by the last name of their keys.
func (c *Change) label(most int) string {
	var parts []string
	for _, a := range c.read[:min(most, len(c.read))] {
		value := "default"
		if !a.Value.IsAbsent() {
			value = strings.Trim(config.Literal(a.Value.Value()), `"`)
		}
		parts = append(parts, a.Path[len(a.Path)-1]+"="+value)
	}
	return strings.Join(parts, ", ")
}
