package serve

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/expect"
	"fedsim/results/rundir"
)

// newServer returns a server without a listener, for ask.
func newServer(t *testing.T, dir string) *Server {
	t.Helper()
	s := expect.Value(New(Directory(dir)))(t)
	s.hosts = loopbackHosts(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080})
	return s
}

// ask sends a request to the handler; headers are pairs of names and values.
func ask(s *Server, method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080/", nil)
	r.URL.Path = target
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b := expect.Value(io.ReadAll(r.Body))(t)
	return string(b)
}

// Every response has headers that restrict it to this origin and to the page's own script.
func TestHeaders(t *testing.T) {
	s := newServer(t, finishedRun(t))
	var page strings.Builder
	policy := expect.Value(report.Live(&page))(t)
	for _, part := range []string{"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-",
		"connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		expect.That(t, strings.Contains(policy, part) && !strings.Contains(policy, "unsafe"),
			"the page's policy is %s: must have %s", policy, part)
	}
	none := "default-src 'none'; frame-ancestors 'none'"
	for _, x := range []struct {
		method, target string
		headers        []string
		status         int
		kind, policy   string
	}{
		{"GET", "/", nil, 200, "text/html; charset=utf-8", policy},
		{"HEAD", "/", nil, 200, "text/html; charset=utf-8", policy},
		{"GET", "/data", nil, 200, "application/json", none},
		{"HEAD", "/data", nil, 200, "application/json", none},
		{"HEAD", "/events", nil, 200, "text/event-stream", none},
		{"POST", "/data", nil, 405, "text/plain; charset=utf-8", none},
		{"DELETE", "/", nil, 405, "text/plain; charset=utf-8", none},
		{"PUT", "/events", nil, 405, "text/plain; charset=utf-8", none},
		{"OPTIONS", "/data", []string{"Origin", "http://evil.example"}, 405, "text/plain; charset=utf-8", none},
		{"GET", "/nothing", nil, 404, "text/plain; charset=utf-8", none},
		{"GET", "/data", []string{"Host", "evil.example:8080"}, 421, "text/plain; charset=utf-8", none},
	} {
		r := ask(s, x.method, x.target, x.headers...)
		expect.That(t, r.StatusCode == x.status,
			"%s %s: status %d, must be %d: %s", x.method, x.target, r.StatusCode, x.status, body(t, r))
		for name, want := range map[string]string{
			"Content-Type": x.kind, "Content-Security-Policy": x.policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			got := r.Header.Get(name)
			expect.That(t, got == want, "%s %s: %s is %q, must be %q", x.method, x.target, name, got, want)
		}
		if got := r.Header.Get("Cache-Control"); got != "no-cache" && got != "no-store" {
			t.Errorf("%s %s may be cached: %q", x.method, x.target, got)
		}
		expect.That(t, x.status != 405 || r.Header.Get("Allow") == "GET, HEAD",
			"%s %s: Allow is %q", x.method, x.target, r.Header.Get("Allow"))
		expect.That(t, x.method != "HEAD" || body(t, r) == "", "HEAD %s has a body", x.target)
	}
	if got := body(t, ask(s, "GET", "/")); got != page.String() {
		t.Errorf("the page differs from that of package report: %.80q", got)
	}
}

// Requests with the Host header of another site are refused (DNS rebinding).
func TestHosts(t *testing.T) {
	dir := finishedRun(t)
	for _, x := range []struct {
		address *net.TCPAddr
		host    string
		status  int
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "127.0.0.1:8080", 200},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "LocalHost:8080", 200},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "[::1]:8080", 200},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "127.0.0.1", 421},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "localhost:8081", 421},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "localhost.evil.example:8080", 421},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "127.0.0.1.nip.io:8080", 421},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "", 421},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 8080}, "127.0.0.2:8080", 200},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 8080}, "[::1]:8080", 200},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, "localhost", 200},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 80}, "[::1]", 200},
		{nil, "any.example", 200},
	} {
		s := newServer(t, dir)
		if s.hosts = nil; x.address != nil {
			s.hosts = loopbackHosts(x.address)
		}
		if r := ask(s, "GET", "/data", "Host", x.host); r.StatusCode != x.status {
			t.Errorf("%v, host %q: status %d, must be %d", x.address, x.host, r.StatusCode, x.status)
		}
	}
}

// No path serves a file, inside or outside of the directory.
func TestServesNoFiles(t *testing.T) {
	dir := finishedRun(t)
	s := newServer(t, dir)
	write(t, filepath.Join(filepath.Dir(dir), "secret"), "SECRET")
	server := httptest.NewServer(s)
	defer server.Close()
	s.hosts = nil
	for _, target := range []string{
		"/../secret", "/%2e%2e/secret", "/..%2fsecret", "/data/../../secret", "/data/../manifest.json",
		"/./data/../secret", "//secret", "/data/", "/data%00", "/manifest.json", "/.unfinished/run.log",
		"/scenario.toml", "/figures/", "/..\\secret", "/%5c..%5csecret", "/" + dir + "/manifest.json",
		"http://127.0.0.1/../secret", "/DATA", "/index.html", "*",
	} {
		c := expect.Value(net.Dial("tcp", server.Listener.Addr().String()))(t)
		expect.Value(io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))(t)
		response := expect.Value(io.ReadAll(c))(t)
		if text := string(response); !strings.HasPrefix(text, "HTTP/1.1 404 ") && !strings.HasPrefix(text,
			"HTTP/1.1 400 ") || strings.Contains(text, "SECRET") || strings.Contains(text, "event_hash") {
			t.Errorf("%s: %s", target, text)
		}
		err := c.Close()
		expect.That(t, err == nil, "%v", err)
	}
}

// The server refuses symbolic links out of the directory and follows those within.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need privileges on Windows")
	}
	for _, name := range []string{"scenario.toml", "manifest.json", "rounds.parquet", ".unfinished", "tables",
		"tables/a"} {
		dir := finishedRun(t)
		outside := filepath.Join(filepath.Dir(dir), "outside")
		expect.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		err := os.Rename(filepath.Join(dir, name), outside)
		if errors.Is(err, os.ErrNotExist) {
			err = os.Mkdir(outside, 0o777)
		}
		expect.NoError(t, err)
		expect.NoError(t, os.Symlink(outside, filepath.Join(dir, name)))
		s := newServer(t, dir)
		r := ask(s, "GET", "/data")
		if text := body(t, r); r.StatusCode != 500 || !strings.Contains(text, "the link "+name+" leads out of it") {
			t.Errorf("%s: status %d: %s", name, r.StatusCode, text)
		}
	}
	dir := finishedRun(t)
	// Other links are ignored, even if they are broken.
	for _, nowhere := range []string{"/nowhere", "nowhere", "../../nowhere"} {
		expect.NoError(t, os.Symlink(nowhere, filepath.Join(dir, "mine-"+strings.ReplaceAll(nowhere, "/", "-"))))
	}
	link := filepath.Join(t.TempDir(), "link")
	expect.NoError(t, os.Symlink(dir, link))
	if r := ask(newServer(t, link), "GET", "/data"); r.StatusCode != 200 {
		t.Errorf("status %d: %s", r.StatusCode, body(t, r))
	}
}

func TestData(t *testing.T) {
	dir := finishedRun(t)
	s := newServer(t, dir)
	want := encoded(t, dir)
	plain := ask(s, "GET", "/data")
	if got := body(t, plain); got != want || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("the data differ from those of package report: %.80q", got)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(want), &r); err != nil || len(r.Runs) != 2 || r.State != rundir.Complete {
		t.Errorf("%+v (%v)", r, err)
	}

	packed := ask(s, "GET", "/data", "Accept-Encoding", "br, gzip;q=0.8")
	expect.Must(t, packed.Header.Get("Content-Encoding") == "gzip" && packed.Header.Get("Vary") == "Accept-Encoding",
		"headers %v", packed.Header)
	zip := expect.Value(gzip.NewReader(packed.Body))(t)
	if got, err := io.ReadAll(zip); err != nil || string(got) != want {
		t.Errorf("unpacked: %.80q (%v)", got, err)
	}
	for _, refused := range []string{"gzip;q=0", "gzip; q=0.000", "br", "xgzip", ""} {
		r := ask(s, "GET", "/data", "Accept-Encoding", refused)
		expect.That(t, r.Header.Get("Content-Encoding") == "", "gzipped for Accept-Encoding %q", refused)
	}

	tag := plain.Header.Get("ETag")
	expect.That(t, tag != "" && tag != packed.Header.Get("ETag"),
		"tags %q and %q: must differ", tag, packed.Header.Get("ETag"))
	if r := ask(s, "GET", "/data", "If-None-Match", tag); r.StatusCode != 304 || body(t, r) != "" {
		t.Errorf("status %d for a matching tag", r.StatusCode)
	}
	if r := ask(s, "GET", "/data", "If-None-Match", `"other"`); r.StatusCode != 200 {
		t.Errorf("status %d for another tag", r.StatusCode)
	}

	// Another run has another tag.
	p := startRun(t, dir, true)
	<-p.reached
	if r := ask(s, "GET", "/data", "If-None-Match", tag); r.StatusCode != 200 || body(t, r) == want {
		t.Errorf("status %d after a change", r.StatusCode)
	}
}

// A missing run has status 202; New refuses a path that cannot become a run directory.
func TestNoRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "x")
	for range 2 {
		r := ask(newServer(t, dir), "GET", "/data")
		if text := body(t, r); r.StatusCode != 202 ||
			text != dir+": no run yet; this page shows the run when it starts\n" {
			t.Errorf("status %d: %s", r.StatusCode, text)
		}
		expect.NoError(t, os.MkdirAll(dir, 0o777))
	}
	s := newServer(t, dir)
	write(t, filepath.Join(dir, "mine"), "")
	if r := ask(s, "GET", "/data"); r.StatusCode != 500 || !strings.Contains(body(t, r), "is not a run directory") {
		t.Errorf("status %d", r.StatusCode)
	}
	for _, path := range []string{dir, filepath.Join(dir, "mine")} {
		_, err := New(Directory(path))
		expect.That(t, errors.Is(err, rundir.ErrForeign), "%s: %v", path, err)
	}
}
