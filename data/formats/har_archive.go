package formats

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"fedsim/data"
	"fedsim/internal/tools/input"
)

// The file that identifies the folder of the data set.
const harMarker = "train/X_train.txt"

// maxInnerZip limits an archive within the archive, which is read into memory (UCI's has
// 61 MB).
const maxInnerZip = 1 << 28

// truncatedZip is the problem of a download that is not a complete zip.
const truncatedZip = "not a complete zip file: the download may be truncated"

// openHAR finds the data set at a path: a folder, its parent, or a zip of either, which
// may be inside another zip as in UCI's current download.
func openHAR(name string) (folder *data.Folder, closer io.Closer, err error) {
	whole, closer, err := data.OpenFolder(name, "UCI HAR", truncatedZip)
	if err != nil {
		return nil, nil, err
	}
	if folder, err = locateHAR(whole); err != nil {
		input.CloseAfter(closer, &err)
		return nil, nil, err
	}
	return folder, closer, nil
}

// locateHAR finds the data set in a folder or a zip, or in the only zip inside a zip.
func locateHAR(whole *data.Folder) (*data.Folder, error) {
	folder, err := findHAR(whole.Files, whole.Name)
	archive, zipped := whole.Files.(*zip.Reader)
	if err == nil || !zipped {
		return folder, err
	}
	for _, inner := range archive.File {
		if path.Base(inner.Name) != "UCI HAR Dataset.zip" || strings.HasPrefix(inner.Name, "__MACOSX/") {
			continue
		}
		name := whole.Path(inner.Name)
		content, err := whole.ReadWhole(inner.Name, maxInnerZip)
		if err != nil {
			return nil, err
		}
		nested, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return nil, &data.ParseError{File: name, Problem: truncatedZip, Err: err}
		}
		return findHAR(nested, name)
	}
	return nil, err
}

// findHAR finds the only folder with the data set: the root or one below it.
func findHAR(files fs.FS, name string) (*data.Folder, error) {
	if _, err := fs.Stat(files, harMarker); err == nil {
		return &data.Folder{Files: files, Name: name}, nil
	}
	found, err := fs.Glob(files, "*/"+harMarker)
	if err != nil {
		return nil, fmt.Errorf("read UCI HAR data: %w", err)
	}
	switch len(found) {
	case 0:
		return nil, inFile(name, "has no %s, directly or in a folder: not the UCI HAR data set", harMarker)
	case 1:
		root := strings.TrimSuffix(found[0], "/"+harMarker)
		sub, err := fs.Sub(files, root)
		if err != nil {
			return nil, fmt.Errorf("read UCI HAR data: %w", err)
		}
		return &data.Folder{Files: sub, Name: name + "/" + root}, nil
	default:
		return nil,
			inFile(name, "holds %d data sets (%s); give the folder of one", len(found), strings.Join(found, ", "))
	}
}
