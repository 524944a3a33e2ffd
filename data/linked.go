package data

import (
	"fmt"

	"fedsim/internal/tools/registry"
)

// linked has the readers of sources that are packages of their own, by the source.
var linked = registry.New[Reader]("data", "reader")

// Reader reads the file at a path as configured, with a Table. Targets are those of the
// table. An error in the file is a *ParseError. The set is named after the file.
type Reader func(cfg Config, path string) (*Set, error)

// RegisterReader makes read the reader of a source, such as SourceParquet. Packages of readers
// call it in their init. It panics if the source has one, or if the name is not valid.
func RegisterReader(source string, read Reader) {
	linked.Add(source, read, read != nil, "a function that reads")
}

// readLinked reads the file with the registered reader of the source.
func readLinked(cfg Config, path string) (*Set, error) {
	read, ok := linked.Lookup(cfg.Source)
	if !ok {
		return nil, fmt.Errorf("data.source = %q: this program cannot read such files; it must import fedsim/data/%s", cfg.Source, cfg.Source)
	}
	set, err := read(cfg, path)
	if err != nil {
		return nil, err
	}
	set.Name = nameOf(path)
	return set, nil
}
