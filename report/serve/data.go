package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedsim/report"
	"fedsim/results/rundir"
)

// data is the encoded report of a run directory. It is built on the first request after
// a change of the directory, once for all clients.
type data struct {
	dir string

	mu      sync.Mutex
	version string // of the directory when it was read; empty: plain and packed are invalid
	plain   []byte
	packed  []byte // plain, gzipped

	took atomic.Int64 // nanoseconds to build them
}

// minInterval is the minimum time between two notifications of changes.
const minInterval = time.Second

// interval returns the time between two notifications. It limits the server to a fifth
// of a core, so that most of it is left to the run.
func (d *data) interval() time.Duration {
	return max(minInterval, 5*time.Duration(d.took.Load()))
}

// read returns the current report of the directory.
func (d *data) read() (plain, packed []byte, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := rundir.Stat(d.dir)
	if err != nil {
		return nil, nil, err
	}
	if now.Version == d.version {
		return d.plain, d.packed, nil
	}
	d.version = ""
	started := time.Now()
	if err := checkLinks(d.dir); err != nil {
		return nil, nil, err
	}
	found, err := report.Read(d.dir)
	if err != nil {
		return nil, nil, err
	}
	var text, zipped bytes.Buffer
	if err := report.Encode(&text, found); err != nil {
		return nil, nil, err
	}
	zip, err := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
	if err != nil {
		return nil, nil, err
	}
	if _, err := zip.Write(text.Bytes()); err != nil {
		return nil, nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, nil, err
	}
	// The version is older than the report: any later change causes another read.
	d.version, d.plain, d.packed = now.Version, text.Bytes(), zipped.Bytes()
	d.took.Store(int64(time.Since(started)))
	return d.plain, d.packed, nil
}

// checkLinks returns an error if a file that a report reads is a symbolic link out of
// the run directory.
func checkLinks(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, folder := range []string{".", ".unfinished", "tables"} {
		entries, err := fs.ReadDir(root.FS(), folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if e.Type()&fs.ModeSymlink == 0 || folder == "." && !rundir.IsName(e.Name()) {
				continue // not read by a report
			}
			if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: the link %s leads out of it: %w", dir, name, err)
			}
		}
	}
	return nil
}

// serveData sends the report with status 200, or an error text with another status.
func (s *Server) serveData(w http.ResponseWriter, r *http.Request) {
	plain, packed, err := s.data.read()
	if err != nil {
		text, status := err.Error(), http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			// Not an error status, which a browser would log.
			status = http.StatusAccepted
			if g, err := rundir.Stat(s.dir); err == nil && g.Status == rundir.Absent {
				text = s.dir + ": no run yet; this page shows the run when it starts"
			}
		}
		http.Error(w, text, status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	body := plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = packed
	}
	h.Set("ETag", tag(body))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// tag returns the entity tag of content.
func tag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// acceptsGzip reports whether an Accept-Encoding header accepts gzip.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.ReplaceAll(weight, " ", "")
			return weight == "" || strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != ""
		}
	}
	return false
}
