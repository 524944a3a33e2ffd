package work

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const beatEvery = 10 * time.Second // between two heartbeats of a claim

// StaleAfter is the age of the last heartbeat of a claim from which on others take it over.
const StaleAfter = 6 * beatEvery

// Claim says who works on a group or a prerequisite. The worker writes it again at every
// heartbeat.
type Claim struct {
	Worker  string    `json:"worker"` // a name that no other process ever has
	Host    string    `json:"host"`
	Process Process   `json:"process"`
	Started time.Time `json:"started"`
	Beat    int       `json:"beat"`    // heartbeats so far
	EveryS  float64   `json:"every_s"` // seconds between two heartbeats
	Share   float64   `json:"share"`   // of the work that is done, in [0, 1]
	TookS   float64   `json:"took_s"`  // seconds of work so far, with those of attempts that this one continues

	written time.Time // the last heartbeat, by the clock of the file server
}

// Age returns the time since the last heartbeat at a time of the file server.
func (c *Claim) Age(now time.Time) time.Duration { return max(0, now.Sub(c.written)) }

// Stale reports whether the worker of a claim must be taken for dead at a time of the file
// server: its last heartbeat is old, or it was a process of this machine and has ended.
func (c *Claim) Stale(now time.Time) bool { return c.stale(now, StaleAfter) }

func (c *Claim) stale(now time.Time, after time.Duration) bool {
	return c.Age(now) >= after || c.Process.ended()
}

// Claim returns the claim of a group or a prerequisite, nil when nobody works on it. One that
// is being created may be without content.
func (d *Dir) Claim(id string) (*Claim, error) { return readClaim(d.note(claimsDir, id)) }

func readClaim(path string) (*Claim, error) {
	var c Claim
	var err error
	if c.written, err = readNote(path, &c); err != nil || c.written.IsZero() {
		return nil, err
	}
	return &c, nil
}

// hold is a claim of this worker. When it loses the claim, it works on. It is not safe for
// concurrent use.
type hold struct {
	dir   *Dir
	id    string
	claim Claim
}

// hold claims a group or a prerequisite. ok is false if another worker has a claim that is not
// stale after some time. The function now returns the time of the file server.
func (d *Dir) hold(id string, by Claim, after time.Duration, now func() (time.Time, error)) (h *hold, ok bool, err error) {
	h = &hold{d, id, by}
	if ok, err = h.create(); ok || err != nil {
		return h, ok, err
	}
	if ok, err = d.dropStale(id, by.Worker, after, now); !ok || err != nil {
		return h, false, err
	}
	ok, err = h.create()
	return h, ok, err
}

// create creates the claim. It reports false if there is one.
func (h *hold) create() (created bool, err error) {
	f, err := os.OpenFile(h.dir.note(claimsDir, h.id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err = errors.Join(encodeNote(f, &h.claim), f.Close()); err != nil {
		return false, errors.Join(err, remove(f.Name()))
	}
	return true, nil
}

// dropStale removes a claim that is stale. Of several workers one succeeds: who renames it.
func (d *Dir) dropStale(id, by string, after time.Duration, now func() (time.Time, error)) (dropped bool, err error) {
	old, err := d.Claim(id)
	if old == nil || err != nil {
		return err == nil, err
	}
	at, err := now()
	if err != nil || !old.stale(at, after) {
		return false, err
	}
	path := d.note(claimsDir, id)
	aside := filepath.Join(d.path, claimsDir, "."+id+"-"+by)
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // another worker was first
		}
		return false, err
	}
	var moved Claim
	if _, err := readNote(aside, &moved); err != nil {
		return false, err
	}
	if moved.Worker != old.Worker { // another worker was first, and this is its claim
		return false, os.Rename(aside, path)
	}
	return true, remove(aside)
}

// beat writes a heartbeat, unless another worker has the claim.
func (h *hold) beat() error {
	there, err := h.dir.Claim(h.id)
	if err != nil {
		return err
	}
	h.claim.Beat++
	switch {
	case there == nil:
		_, err = h.create()
	case there.Worker == h.claim.Worker:
		err = writeNote(h.dir.note(claimsDir, h.id), &h.claim)
	}
	return err
}

// release removes the claim, unless another worker has it.
func (h *hold) release() error {
	there, err := h.dir.Claim(h.id)
	if err != nil || there == nil || there.Worker != h.claim.Worker {
		return err
	}
	return remove(h.dir.note(claimsDir, h.id))
}
