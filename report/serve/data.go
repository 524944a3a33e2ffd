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

// data is the report of a run directory as it is sent. It is made when it is asked
// for, once for all who ask while the directory stays as it is.
type data struct {
	dir string

	mu     sync.Mutex
	mark   string // of the directory when it was read; empty: what follows is not to be used
	plain  []byte
	packed []byte // plain, gzipped

	took atomic.Int64 // nanoseconds to make them
}

// leastPace is the least time between two changes that are told.
const leastPace = time.Second

// pace is the time between two changes that leaves most of a core to the run, however
// long the report takes.
func (d *data) pace() time.Duration {
	return max(leastPace, 5*time.Duration(d.took.Load()))
}

// read returns the report of the directory as it is now.
func (d *data) read() (plain, packed []byte, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := rundir.Stat(d.dir)
	if err != nil {
		return nil, nil, err
	}
	if now.Version == d.mark {
		return d.plain, d.packed, nil
	}
	d.mark = ""
	started := time.Now()
	if err := stayInside(d.dir); err != nil {
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
	// What was written since it was looked at may be in it, or not: it is read again.
	d.mark, d.plain, d.packed = now.Version, text.Bytes(), zipped.Bytes()
	d.took.Store(int64(time.Since(started)))
	return d.plain, d.packed, nil
}

// stayInside reports links in a run directory that lead out of it: what they lead to
// is nobody's to see.
func stayInside(dir string) (err error) {
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
				continue // other links than those to what is read are nobody's concern
			}
			if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: the link %s leads out of it: %w", dir, name, err)
			}
		}
	}
	return nil
}

// serveData sends the report with the status 200, or else says in words why there is
// none.
func (s *Server) serveData(w http.ResponseWriter, r *http.Request) {
	plain, packed, err := s.data.read()
	if err != nil {
		text, status := err.Error(), http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			// No status of an error: a browser that is told of one complains.
			status = http.StatusAccepted
			if g, err := rundir.Stat(s.dir); err == nil && g.Status == rundir.Absent {
				text = s.dir + ": there is no run here yet; it shows as soon as there is"
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

// tag names a content.
func tag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// acceptsGzip reads an Accept-Encoding header.
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
