package config

// maxName is the most bytes that a name may have, so that a file named after it,
// with an ending and what a temporary file adds, stays below the 255 bytes that
// file systems allow.
const maxName = 100

// NameRule says what a name is; NamePattern says the same as a regular expression.
const (
	NameRule    = "must consist of at most 100 letters, digits, -, _ and ., and begin with a letter, a digit or _"
	NamePattern = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"
)

// IsName reports whether name follows the one rule for what may become the name of a
// file: scenarios, experiments, figures, tables and labels. A name without folders,
// that is no hidden file and no option, stays in the folder it is joined to.
func IsName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isBareByte(c) && c != '.' {
			return false
		}
	}
	return name != "" && len(name) <= maxName && name[0] != '.' && name[0] != '-'
}
