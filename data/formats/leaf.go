package formats

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// leafSet collects the users of files in the format of LEAF (Caldas et al., "LEAF: A
// Benchmark for Federated Settings", 2018), a task for each.
type leafSet struct {
	tasks    []data.Client
	index    map[string]int // of tasks, by user
	files    []string       // file of the training rows of each task
	own      bool           // test rows are the set's own: users of test files are in training files
	features int            // of a row; 0 before the first
	labels   *data.Labels
}

// readLEAF reads a file of LEAF, a folder of such files, or the folders train and test in
// a folder, of which the rows in test are the set's own test rows. Tasks are the users in
// the order of the lists "users", files in the order of their names. If they stay test
// rows, their users must have training rows.
func readLEAF(cfg data.Config, path string) (*data.Set, error) {
	train, test, err := leafFiles(path)
	if err != nil {
		return nil, err
	}
	s := &leafSet{index: map[string]int{}, own: cfg.TestRows == data.TestRowsOwn, labels: cfg.NewLabels()}
	for _, file := range train {
		if err := s.read(file, s.train); err != nil {
			return nil, err
		}
	}
	for _, file := range test {
		if err := s.read(file, s.test); err != nil {
			return nil, err
		}
	}
	set := &data.Set{Name: strings.TrimSuffix(filepath.Base(path), ".json"), Features: s.features, Clients: s.tasks}
	for t := range set.Clients {
		set.Clients[t].X.Data = slices.Clip(set.Clients[t].X.Data)
	}
	s.labels.Finish(set)
	return set, nil
}

// leafFiles returns the files at a path; test is nil if it has no test folder.
func leafFiles(path string) (train, test []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read LEAF data: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil, nil
	}
	halves := [2]string{filepath.Join(path, "train"), filepath.Join(path, "test")}
	var found [2]bool
	for h, half := range halves {
		info, err := os.Stat(half)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read LEAF data: %w", err)
		}
		found[h] = err == nil && info.IsDir()
	}
	if !found[0] {
		train, err = jsonFiles(path)
		return train, nil, err
	}
	if train, err = jsonFiles(halves[0]); err == nil && found[1] {
		test, err = jsonFiles(halves[1])
	}
	return train, test, err
}

// jsonFiles returns the files in a folder with the suffix .json, in the order of their
// names.
func jsonFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read LEAF data: %w", err)
	}
	var files []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".json" && !strings.HasPrefix(entry.Name(), ".") {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil,
			inFile(folder, "has no file with the suffix .json: data.path must name a LEAF file, a folder of them, "+
				"or a folder with the folders train and test")
	}
	return files, nil
}

func (s *leafSet) read(path string, add func(file string, user *leafUser) error) error {
	file, err := data.OpenText(path)
	if err != nil {
		return fmt.Errorf("read LEAF data: %w", err)
	}
	users, err := newLEAFReader(file, path, s).read()
	if input.CloseAfter(file, &err); err != nil {
		return err
	}
	for _, user := range users {
		if err := add(path, user); err != nil {
			return err
		}
	}
	return nil
}

// train adds a user with training rows.
func (s *leafSet) train(file string, user *leafUser) error {
	if t, known := s.index[user.Name]; known {
		return inFile(file, "user %s is in %s, too: a user must be in one file", quote.Text(user.Name), s.files[t])
	}
	if user.X.Rows == 0 {
		return inFile(file, "user %s has no rows: must have at least one for training", quote.Text(user.Name))
	}
	s.index[user.Name] = len(s.tasks)
	s.tasks = append(s.tasks, user.Client)
	s.files = append(s.files, file)
	return nil
}

// test adds the test rows of a user.
func (s *leafSet) test(file string, user *leafUser) error {
	t, known := s.index[user.Name]
	switch {
	case !known && s.own:
		return inFile(file, "user %s has no training rows: the folders must be a split by samples (LEAF's -t "+
			"sample); data.test_rows = \"random\" divides the rows of each user again", quote.Text(user.Name))
	case !known:
		return s.train(file, user)
	case s.tasks[t].Held > 0:
		return inFile(file, "user %s is in another test file, too: a user must be in one file", quote.Text(user.Name))
	}
	task := &s.tasks[t]
	task.X.Data = append(task.X.Data, user.X.Data...)
	task.X.Rows += user.X.Rows
	task.Y = append(task.Y, user.Y...)
	task.Held = user.X.Rows
	return nil
}
