package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedsim/internal/rooms/report"
	"fedsim/results/rundir"
)

// data is the encoded report of a source. It is built on the first request after a change
// of the source, once for all clients.
type data struct {
	from Source

	mu      sync.Mutex
	version string // of the source when it was read; empty: plain and packed are invalid
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

func (d *data) read() (plain, packed []byte, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := d.from.Stat()
	if err != nil {
		return nil, nil, err
	}
	if now.Version == d.version {
		return d.plain, d.packed, nil
	}
	d.version = ""
	started := time.Now()
	found, err := d.from.Read()
	if err != nil {
		return nil, nil, err
	}
	var text, zipped bytes.Buffer
	if err := report.Encode(&text, found); err != nil {
		return nil, nil, err
	}
	zip, err := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	// Writing to memory does not fail.
	_, _ = zip.Write(text.Bytes())
	_ = zip.Close()
	// The version is older than the report: any later change causes another read.
	d.version, d.plain, d.packed = now.Version, text.Bytes(), zipped.Bytes()
	d.took.Store(int64(time.Since(started)))
	return d.plain, d.packed, nil
}

// serveData sends the report with status 200, or an error text with another status.
func (s *Server) serveData(w http.ResponseWriter, r *http.Request) {
	plain, packed, err := s.data.read()
	if err != nil {
		text, status := err.Error(), http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			// Not an error status, which a browser would log.
			status = http.StatusAccepted
			if g, err := s.data.from.Stat(); err == nil && g.Status == rundir.Absent {
				text = s.data.from.Dir + ": no run yet; this page shows the run when it starts"
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
