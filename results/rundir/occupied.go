package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fedsim/internal/tools/input"
)

// requireFree reports files that a new run must not overwrite.
func requireFree(dir string, force bool) error {
	old, err := inspect(dir)
	if errors.Is(err, ErrForeign) {
		return fmt.Errorf("%w: choose another directory with --out", err)
	}
	if err != nil {
		return err
	}
	if old != nil && old.State == Complete && !force {
		left := ""
		if hasCheckpoint(dir) {
			left =
				fmt.Sprintf(", and an unfinished one that was to replace it: resume that with fedsim run --resume %s,",
					dir)
		}
		return fmt.Errorf("%s: %w%s use --force to overwrite it, or --out for another directory", dir, ErrExists,
			cmp.Or(left, ":"))
	}
	return nil
}

// inspect returns the manifest in dir, or nil when dir does not exist, is empty, or holds
// only an unfinished run.
func inspect(dir string) (*Manifest, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: %w but a file", dir, ErrForeign)
	}
	path := filepath.Join(dir, manifestFile)
	text, err := input.ReadOwn(path, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, requireEmpty(dir)
	}
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(path, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w of this version (%w)", dir, ErrForeign, err)
	}
	return m, requireKinds(dir)
}

// requireEmpty accepts a directory without a manifest only when it is empty, except for
// the files of a crashed run: the stage, and files whose manifest is still in the stage.
func requireEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	staged := false
	for _, e := range entries {
		staged = staged || e.Name() == stageDir && e.IsDir()
	}
	for _, e := range entries {
		if e.Name() == stageDir || staged && IsName(e.Name()) {
			continue
		}
		return fmt.Errorf("%s: %w: it holds %s and no %s", dir, ErrForeign, e.Name(), manifestFile)
	}
	return nil
}
