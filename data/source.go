package data

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/registry"
)

// source is where the rows of a set come from: a value of data.source.
type source struct {
	name string
	file string   // what path must name, such as "the csv file"; empty: path must be empty
	keys []string // keys of [data] that no source but those that list them uses
	// read reads the file at a path. Targets are as in the file: numbers, or, with Classes,
	// indices into the names of the classes. Config.setTarget makes those of data.target of
	// them. Nil for sources without a file.
	read func(cfg Config, path string) (*Set, error)
}

// columnKeys are the keys of tables with named columns.
var columnKeys = []string{"client_column", "label_column", "columns", "drop_columns", "missing"}

// arrayKeys are the keys of files with named arrays.
var arrayKeys = []string{"arrays.features", "arrays.targets", "arrays.clients"}

// sources lists the sources in the order of the documentation.
func sources() registry.Catalog[source] {
	return registry.NewCatalog(func(s *source) string { return s.name },
		source{name: SourceSynthetic},
		source{
			name: SourceHAR, file: "the zip or folder of the UCI HAR data set", keys: []string{"positive_class"},
			read: readLinked,
		},
		source{
			name: SourceCSV, file: "the csv file", keys: append([]string{"positive_class"}, columnKeys...),
			read: func(c Config, path string) (*Set, error) { return readCSVFile(&c, path) },
		},
		source{
			name: SourceIDX, file: "the folder of the IDX files, or a file of images",
			keys: []string{"positive_class", "test_rows"},
			read: readLinked,
		},
		source{
			name: SourceLEAF, file: "the LEAF file, a folder of them, or a folder with the folders train and test",
			keys: []string{"positive_class", "test_rows"},
			read: readLinked,
		},
		source{
			name: SourceMATLAB, file: "the MATLAB 5 file", keys: append([]string{"positive_class"}, arrayKeys...),
			read: readLinked,
		},
		source{
			name: SourceLIBSVM, file: "the LIBSVM or SVMlight file", keys: []string{"positive_class"},
			read: readLinked,
		},
		source{
			name: SourceNPZ, file: "the npz file, or a folder of npy files",
			keys: append([]string{"positive_class", "test_rows"}, arrayKeys...),
			read: readNPZ,
		},
		source{
			name: SourceParquet, file: "the parquet file", keys: append([]string{"positive_class"}, columnKeys...),
			read: readLinked,
		},
		source{name: SourceAlphaBeta, keys: []string{"alpha_beta"}},
		source{name: SourceExternal, keys: []string{"external.clients"}},
	)
}

// Generates reports whether fedsim generates the rows, without a file.
func (c *Config) Generates() bool {
	return c.Source == SourceSynthetic || c.Source == SourceAlphaBeta
}

// source returns the source of the configuration; ok is false if there is none of its name.
func (c *Config) source() (s source, ok bool) {
	return sources().Lookup(c.Source)
}

func (s *source) validatePath(check *config.Checker, path string) {
	if s.file != "" {
		check.Require(path != "", "path", path, "must name "+s.file)
		return
	}
	var files []string
	for _, other := range sources().All() {
		if other.file != "" {
			files = append(files, fmt.Sprintf("%q", other.name))
		}
	}
	check.Require(path == "", "path", path,
		fmt.Sprintf("must be empty when source is %q; to read a file, set source to one of %s", s.name,
			strings.Join(files, ", ")))
}

// validateKey reports a key of other sources that is set.
func (s *source) validateKey(check *config.Checker, key string, value any, untouched bool) {
	if untouched || slices.Contains(s.keys, key) {
		return
	}
	var owners []string
	for _, other := range sources().All() {
		if slices.Contains(other.keys, key) {
			owners = append(owners, fmt.Sprintf("%q", other.name))
		}
	}
	check.Require(false, key, value,
		fmt.Sprintf("has no effect when source is %q; it belongs to source %s", s.name, strings.Join(owners, ", ")))
}
