package work

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/input"
)

// StaleAfter is the age of the last heartbeat of a claim from which on other workers take it over.
const StaleAfter = time.Minute

// Claim says who works on an item of the plan, or who did so last and how far that worker came.
type Claim struct {
	Worker  string  `json:"worker"` // a name that no other process ever has
	Host    string  `json:"host"`
	Process Process `json:"process"`
	Share   float64 `json:"share"`           // the share of the item that is done, in [0, 1]
	TookS   float64 `json:"took_s"`          // the seconds of work so far, with those of workers before it
	Ended   bool    `json:"ended,omitempty"` // the worker does not work on the item any more

	// Failure is one line that says why the item failed; empty: it did not. Only ended claims have one.
	Failure string `json:"failure,omitempty"`

	written time.Time // the time of the last heartbeat, by the clock of the file server
}

// Age returns the time since the last heartbeat at a time of the file server.
func (c *Claim) Age(now time.Time) time.Duration { return max(0, now.Sub(c.written)) }

// Free reports whether others may claim the item at a time of the file server: the claim has ended,
// or its worker must be taken for dead. Its last heartbeat is then as old as after, or it was a
// process of this machine and is gone.
func (c *Claim) Free(now time.Time, after time.Duration) bool {
	return c.Ended || c.Age(now) >= after || c.Process.ended()
}

// maxClaim limits the bytes of the file of a claim.
const maxClaim = 1 << 16

// readClaim reads a claim, nil when there is none. A file that is being created, or was cut off by a
// full disk, is a claim without content.
func readClaim(path string) (*Claim, error) {
	f, err := input.OpenOwn(path, maxClaim)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c Claim
	info, err := f.Stat() // of the open file: a network file system has asked its server
	if err == nil {
		_ = json.NewDecoder(f).Decode(&c)
		c.written = info.ModTime()
	}
	return &c, errors.Join(err, f.Close())
}

// write replaces the file of a claim. A lost one costs little: some work is done twice.
func (c *Claim) write(path string) error {
	return atomicfile.WriteSoon(path, func(out io.Writer) error { return c.encode(out) })
}

func (c *Claim) encode(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "\t")
	return e.Encode(c)
}

// remove removes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lease is a claim of this worker. It is not safe for concurrent use.
type lease struct {
	dir   *Dir
	id    string
	claim Claim
	last  Claim // of the worker before this one; without a name: there is none
}

// acquire claims an item. ok is false if another worker has a claim that is not free, see [Claim.Free].
// The function now returns the time of the file server. Of several workers that find a free claim one
// succeeds: who renames it.
func (d *Dir) acquire(id string, by Claim, after time.Duration, now func() time.Time) (l *lease, ok bool, err error) {
	l = &lease{dir: d, id: id, claim: by}
	if ok, err = l.create(); ok || err != nil {
		return l, ok, err
	}
	old, err := d.Claim(id)
	if err != nil || old == nil || !old.Free(now(), after) {
		return l, false, err
	}
	aside := filepath.Join(d.path, claimsDir, "."+id+"-"+by.Worker)
	if err := os.Rename(d.claimPath(id), aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // another worker was first
		}
		return l, false, err
	}
	last, err := readClaim(aside)
	if err != nil || last == nil {
		return l, false, err
	}
	if last.Worker != old.Worker || !last.written.Equal(old.written) { // another worker was first, or its worker lives
		return l, false, os.Rename(aside, d.claimPath(id))
	}
	l.last, l.claim.TookS = *last, last.TookS
	ok, err = l.create()
	return l, ok, errors.Join(err, remove(aside))
}

// create creates the file of the claim. It reports false if there is one.
func (l *lease) create() (created bool, err error) {
	f, err := os.OpenFile(l.dir.claimPath(l.id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err = errors.Join(l.claim.encode(f), f.Close()); err != nil {
		return false, errors.Join(err, remove(f.Name()))
	}
	return true, nil
}

// beat writes a heartbeat. It reports false if another worker has or had the claim since.
func (l *lease) beat() (mine bool, err error) {
	there, err := l.dir.Claim(l.id)
	switch {
	case err != nil:
		return true, err
	case there == nil:
		return l.create()
	case there.Worker != l.claim.Worker:
		return false, nil
	}
	return true, l.claim.write(l.dir.claimPath(l.id))
}

// release ends the claim, unless another worker has it. One under which nothing was done leaves the
// last one.
func (l *lease) release() error {
	path := l.dir.claimPath(l.id)
	there, err := readClaim(path)
	if err != nil || there != nil && there.Worker != l.claim.Worker {
		return err
	}
	switch nothing := l.claim.Failure == "" && l.claim.TookS == l.last.TookS; {
	case nothing && l.last.Worker == "":
		return remove(path)
	case nothing:
		l.claim = l.last
	}
	l.claim.Ended = true
	if err = l.claim.write(path); err == nil {
		return nil
	}
	if l.claim.Failure == "" {
		err = nil // on a full disk; the file only has times
	}
	return errors.Join(err, remove(path))
}
