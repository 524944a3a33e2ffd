package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FolderVariable is the environment variable with the folder for data files that are
// neither beside the scenario nor in the working directory.
const FolderVariable = "FEDSIM_DATA"

// Locate returns the place of a data file: its path as given, or, if the path is
// relative and does not exist, in the folder of FEDSIM_DATA. Package scenarios has
// already replaced paths of files beside the scenario. If there is no such file, the
// error wraps fs.ErrNotExist.
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
	return "",
		fmt.Errorf(
			"%w: looked for %s beside the scenario, in the working directory and in the folder that %s names (%s)",
			fs.ErrNotExist, path, FolderVariable, folder)
}
