package external

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fedsim/algorithms"
)

// State saves or restores the state of the learner. The learner writes its own file, so
// that no model crosses the pipe; the checkpoint has the name and the digest of the file.
// Two files take turns: that of the last checkpoint stays until the next one is written.
func (l *Learner) State(c *algorithms.Coder) {
	var digest string
	if !c.Reads() {
		if l.file = 1 - l.file; l.err == nil {
			digest = l.save(l.about.File(l.file))
		}
		if l.err != nil {
			c.Fail(fmt.Errorf("%s: %w", l.About.Name, l.err))
			return
		}
	}
	c.Int(&l.round)
	c.Int(&l.file)
	c.String(&digest)
	c.Bools(l.solved)
	if l.codes != nil {
		c.Int(&l.codes.taken)
		l.codes.link.State(c)
	}
	if !c.Reads() || c.Err() != nil {
		return
	}
	if l.file != 0 && l.file != 1 {
		c.Fail(fmt.Errorf("%d is no name of a file", l.file))
		return
	}
	if err := l.load(l.about.File(l.file), digest); err != nil {
		c.Fail(err)
	}
}

// save lets the learner write its state and returns the digest of the file.
func (l *Learner) save(path string) (digest string) {
	path, err := filepath.Abs(path)
	if err != nil {
		l.fail("save", err)
		return ""
	}
	var reported string
	if !l.ask(request{Op: "save", Run: l.run, Path: path}, saveFields.Into(&reported)) {
		return ""
	}
	digest, err = digestOf(path)
	if err == nil && digest != reported {
		err = fmt.Errorf("sha256 = %q: the file %s has %s", reported, path, digest)
	}
	if err != nil {
		l.fail("save", err)
	}
	return digest
}

// load lets the learner read its state from a file with a digest.
func (l *Learner) load(path, digest string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	now, err := digestOf(path)
	if err != nil {
		return fmt.Errorf("the state of %s: %w", l.About.Name, err)
	}
	if now != digest {
		return fmt.Errorf("the state of %s in %s has changed: its SHA-256 is not that of the checkpoint", l.About.Name,
			path)
	}
	if !l.ask(request{Op: "load", Run: l.run, Path: path}, none) {
		return fmt.Errorf("%s: %w", l.About.Name, l.err)
	}
	l.take("load")
	return l.err
}

// digestOf returns the SHA-256 of a file.
func digestOf(path string) (digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
