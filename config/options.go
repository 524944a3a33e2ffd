package config

// Options are the settings of something that is chosen by its name: a pointer to a
// struct with tags `toml` and `doc`, decoded strictly from a table of its own.
type Options interface {
	// Validate reports everything wrong with the settings.
	Validate(*Checker)
}
