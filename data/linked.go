package data

import (
	"fmt"
	"path/filepath"
	"strings"

	"fedsim/internal/tools/registry"
)

// linked has the readers of sources that are packages of their own, by the source.
var linked = registry.New[Reader]("data", "reader")

// Reader reads the file at a path as configured, with a Table. Targets are those of the
// table. An error in the file is a *ParseError. A set
// without a name is named after the file.
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
		return nil,
			fmt.Errorf("data.source = %q: this program cannot read such files; it must import %s", cfg.Source,
				readersOf(cfg.Source))
	}
	set, err := read(cfg, path)
	if err != nil {
		return nil, err
	}
	if set.Name == "" {
		set.Name = nameOf(path)
	}
	return set, nil
}

// nameOf returns the name of a set: that of its file, without its extensions, or folder.
func nameOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // "." has no name
	}
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// readersOf returns the package that has the reader of a source.
func readersOf(source string) string {
	if source == SourceParquet {
		return "fedsim/data/parquet"
	}
	return "fedsim/data/formats"
}
