package command

import (
	"path/filepath"
	"slices"
	"strings"

	"fedsim/internal/tools/atomicfile"
	"fedsim/plots"
)

// pictureFiles returns the files for --figure: one file, or one for each format if the name has no
// extension.
func pictureFiles(name string) (paths []string, err error) {
	switch extension := filepath.Ext(name); {
	case slices.Contains(plots.Extensions, strings.ToLower(extension)):
		return []string{name}, nil
	case extension != "":
		return nil, usagef("--figure=%s: must end in .png, .svg or .pdf, or have no extension for all", name)
	}
	for _, extension := range plots.Extensions {
		paths = append(paths, name+extension)
	}
	return paths, nil
}

// savePicture writes a figure to the files for --figure and returns their names.
func savePicture(picture *plots.Picture, name string) (saved []string, err error) {
	paths, err := pictureFiles(name)
	for _, path := range paths {
		if err := atomicfile.Write(path, picture.Writer(strings.ToLower(filepath.Ext(path)))); err != nil {
			return saved, err
		}
		saved = append(saved, path)
	}
	return saved, err
}
