// Package filetest reads and writes the files of tests. What fails ends the test.
package filetest

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// T is a testing.TB or a rapid.T.
type T = expect.T

// Read returns the content of a file.
func Read(t T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Write writes a file.
func Write[C ~string | ~[]byte](t T, path string, content C) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// New writes a file to a new folder, and returns its path.
func New[C ~string | ~[]byte](t testing.TB, name string, content C) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	Write(t, path, content)
	return path
}

// Folder writes files to a new folder, and returns its path.
func Folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "set")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		Write(t, filepath.Join(folder, name), content)
	}
	return folder
}

// Base64 returns the content of a binary file that is stored as text.
func Base64(t T, path string) []byte {
	t.Helper()
	content, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(Read(t, path)), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Rows returns the rows of a csv file, header included. Lines of # are comments.
func Rows(t T, path string) [][]string {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(Read(t, path)))
	r.Comment, r.FieldsPerRecord = '#', -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Number returns the number of a cell.
func Number(t T, cell string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Real returns the path of a file of real data, in the folder of FEDSIM_DATA or in ../shared/data
// beside the module, or skips the test.
func Real(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv("FEDSIM_DATA")
	if folder == "" {
		module := "."
		for range 5 {
			if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil {
				break
			}
			module = filepath.Join(module, "..")
		}
		folder = filepath.Join(module, "..", "shared", "data")
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s: set FEDSIM_DATA to the folder that holds it", path)
	}
	return path
}
