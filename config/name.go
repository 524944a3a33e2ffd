package config

// maxName is the most bytes of a name. A file of that name, with an extension and the
// suffix of a temporary file, stays below the 255 bytes that file systems allow.
const maxName = 100

// NameRule is the rule for names; NamePattern is the same as a regular expression.
const (
	NameRule    = "must consist of at most 100 letters, digits, -, _ and ., and begin with a letter, a digit or _"
	NamePattern = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"
)

// IsName reports whether a name follows the rule for scenarios, experiments, figures,
// tables and labels, which become names of files. A name has no folders, is not a hidden
// file and not an option.
func IsName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isBareByte(c) && c != '.' {
			return false
		}
	}
	return name != "" && len(name) <= maxName && name[0] != '.' && name[0] != '-'
}
