package config

// Options are the options of an algorithm or a model: a pointer to a struct with tags
// `toml`, decoded strictly from a table.
type Options interface {
	// Validate reports all problems of the options.
	Validate(*Checker)
}
