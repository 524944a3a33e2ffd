package quote

import (
	"fmt"
	"strings"
)

// List lists names, at most so many of them.
func List(names []string, most int) string {
	list := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return list
}
