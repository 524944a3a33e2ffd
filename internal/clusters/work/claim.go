package work

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
)

// StaleAfter is the age of the last heartbeat of a claim from which on other workers take it over.
const StaleAfter = time.Minute

// Claim says who works on an item of the plan, or who did so last and how far that worker came.
type Claim struct {
	Worker  string    `json:"worker"` // a name that no other process ever has
	Host    string    `json:"host"`
	Process Process   `json:"process"`
	Started time.Time `json:"started"`
	Share   float64   `json:"share"`  // the share of the item that is done, in [0, 1]
	TookS   float64   `json:"took_s"` // the seconds of work so far, with those of workers before it

	// Failure is one line that says why the item failed; empty: it did not. Only ended claims have one.
	Failure string `json:"failure,omitempty"`

	written time.Time // the time of the last heartbeat, by the clock of the file server
}

// Age returns the time since the last heartbeat at a time of the file server.
func (c *Claim) Age(now time.Time) time.Duration { return max(0, now.Sub(c.written)) }

// Expired reports whether the worker of a claim must be taken for dead at a time of the file
// server: its last heartbeat is as old as after, or it was a process of this machine and has ended.
func (c *Claim) Expired(now time.Time, after time.Duration) bool {
	return c.Age(now) >= after || c.Process.ended()
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
}

// acquire claims an item. ok is false if another worker has a claim whose last heartbeat is not
// older than after. The function now returns the time of the file server.
func (d *Dir) acquire(id string, by Claim, after time.Duration, now func() time.Time) (l *lease, ok bool, err error) {
	l = &lease{d, id, by}
	if ok, err = l.create(); ok || err != nil {
		return l, ok, err
	}
	if ok, err = d.endExpired(id, by.Worker, after, now); !ok || err != nil {
		return l, false, err
	}
	ok, err = l.create()
	return l, ok, err
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

// endExpired moves a claim that has expired to the ended ones. Of several workers one succeeds: who
// renames it.
func (d *Dir) endExpired(id, by string, after time.Duration, now func() time.Time) (ended bool, err error) {
	old, err := d.Claim(id)
	if old == nil || err != nil {
		return err == nil, err
	}
	if !old.Expired(now(), after) {
		return false, nil
	}
	path := d.claimPath(id)
	aside := filepath.Join(d.path, claimsDir, "."+id+"-"+by)
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // another worker was first
		}
		return false, err
	}
	moved, err := readClaim(aside)
	if err != nil {
		return false, err
	}
	if moved != nil && moved.Worker != old.Worker { // another worker was first, and this is its claim
		return false, os.Rename(aside, path)
	}
	return true, os.Rename(aside, d.endedPath(id))
}

// beat writes a heartbeat. It reports false if another worker has the claim.
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
// last one as it is.
func (l *lease) release() error {
	there, err := l.dir.Claim(l.id)
	if err != nil || there != nil && there.Worker != l.claim.Worker {
		return err
	}
	if l.claim.TookS > 0 || l.claim.Failure != "" {
		err = l.claim.write(l.dir.endedPath(l.id))
	}
	if l.claim.Failure == "" {
		err = nil // it only tells times
	}
	return errors.Join(err, remove(l.dir.claimPath(l.id)))
}
