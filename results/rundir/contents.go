package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"fedsim/internal/tools/input"
)

// Contents of a run directory beside its stage. The manifest, the last file of an install, is
// first.
var (
	fileNames = []string{manifestFile, scenarioFile, runsFile, clientsFile, roundsFile, metricsFile, devicesParquet,
		valuesParquet, ReportFile}
	folderNames = []string{figuresDir, tablesDir, modelsDir}
)

// IsName reports whether a name is that of a file or folder of run directories.
func IsName(name string) bool {
	return name == stageDir || slices.Contains(fileNames, name) || slices.Contains(folderNames, name)
}

// replacedFile is in the stage during an install: the manifest of the run that is replaced.
const replacedFile = "replaced.json"

// undoInstall undoes an install that was interrupted: files of the new run return to the
// stage, and those of the run that it replaces are removed. The stage is locked. A directory
// with a manifest, or without one in its stage, has no such install.
func undoInstall(dir string) (err error) {
	if exists(filepath.Join(dir, manifestFile)) {
		return nil
	}
	installed, err := stagedManifest(dir, manifestFile)
	if installed == nil || err != nil {
		return err
	}
	replaced, err := stagedManifest(dir, replacedFile)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range installed.fileNames()[1:] {
		if there, err := isIn(root, filepath.Join(stageDir, name)); err != nil || there {
			if err != nil {
				return err
			}
			continue // it was not moved yet, or is a copy
		}
		if err := root.MkdirAll(filepath.Join(stageDir, filepath.Dir(name)), 0o777); err != nil {
			return err
		}
		if err := root.Rename(name, filepath.Join(stageDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, m := range []*Manifest{installed, replaced} {
		if m == nil {
			continue
		}
		if err := removeFilesOf(root, m); err != nil {
			return err
		}
	}
	return nil
}

// stagedManifest reads a manifest in the stage of a run directory, nil when there is none.
func stagedManifest(dir, name string) (*Manifest, error) {
	path := filepath.Join(dir, stageDir, name)
	text, err := input.ReadOwn(path, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(path, text)
	if err != nil { // of another version, which does not install files as this one does
		return nil, nil
	}
	return m, nil
}

func isIn(root *os.Root, name string) (bool, error) {
	_, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// removeFilesOf removes the files of a run, except for its manifest, and its report. It
// leaves folders with other files.
func removeFilesOf(root *os.Root, m *Manifest) error {
	for _, name := range append(m.fileNames()[1:], ReportFile) {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range folderNames {
		_ = root.Remove(name) // it stays unless it is empty
	}
	return nil
}

// requireKinds reports entries of a run directory that are not files or not folders, as no
// run makes them.
func requireKinds(dir string) error {
	for i, name := range append(slices.Clone(fileNames), folderNames...) {
		info, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case err != nil:
		case i < len(fileNames) && !info.Mode().IsRegular():
			return fmt.Errorf("%s: %w: %s in it is not a file", dir, ErrForeign, name)
		case i >= len(fileNames) && !info.IsDir():
			return fmt.Errorf("%s: %w: %s in it is not a directory", dir, ErrForeign, name)
		}
	}
	return nil
}
