package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FolderVariable is the environment variable with the folder where files of data are
// looked for that are neither beside the scenario nor in the working directory.
const FolderVariable = "FEDSIM_DATA"

// Locate returns where a file of data is: at its path as it is given, or else, unless
// that is absolute, in the folder of FEDSIM_DATA. A path in a scenario's file is that
// of a file beside it already, where there is one (package scenarios). The error of one
// that is nowhere wraps fs.ErrNotExist.
func Locate(path string) (string, error) {
	places := []string{path}
	folder := os.Getenv(FolderVariable)
	if folder != "" && !filepath.IsAbs(path) {
		places = append(places, filepath.Join(folder, path))
	}
	for _, place := range places {
		switch _, err := os.Stat(place); {
		case err == nil:
			return place, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	switch {
	case filepath.IsAbs(path):
		return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case folder == "":
		folder = "not set"
	}
	return "", fmt.Errorf("%w: looked for %s beside the scenario, in the working directory and in the folder that %s names (%s)", fs.ErrNotExist, path, FolderVariable, folder)
}
