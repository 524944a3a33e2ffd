package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/expect"
	"fedsim/results"
	"fedsim/results/rundir"
)

// served starts a server for dir and returns its URL. stop stops it, and fails the test
// unless it stops promptly and without an error.
func served(t *testing.T, dir string) (url string, stop func()) {
	t.Helper()
	l := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	expect.That(t, Loopback(l), "127.0.0.1 is not a loopback address")
	s := expect.Value(New(Directory(dir)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	return URL(l), sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			expect.That(t, err == nil, "%v", err)
		case <-time.After(20 * time.Second):
			t.Error("the server does not stop")
		}
	})
}

// listen returns the events until the server ends them, as "name phase".
func listen(t *testing.T, url string) <-chan string {
	t.Helper()
	r := expect.Value(http.Get(url + "events"))(t)
	expect.Must(t, r.StatusCode == 200, "%v", r.Status)
	events := make(chan string, 1000)
	go func() {
		defer close(events)
		defer r.Body.Close()
		name := ""
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			if x, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = x
			}
			if x, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- name + " " + x
			}
		}
	}()
	return events
}

func fetch(t *testing.T, url string) (status int, r report.Report) {
	t.Helper()
	response := expect.Value(http.Get(url + "data"))(t)
	defer response.Body.Close()
	text := expect.Value(io.ReadAll(response.Body))(t)
	if response.StatusCode == 200 {
		expect.NoError(t, json.Unmarshal(text, &r))
	}
	return response.StatusCode, r
}

// A page opened before the run sees it start, progress, finish, and be replaced.
func TestFollowsRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "x")
	url, stop := served(t, dir)
	defer stop()
	events := listen(t, url)
	until := func(want string) (seen []string) {
		t.Helper()
		late := time.After(30 * time.Second)
		for {
			select {
			case e, ok := <-events:
				if seen = append(seen, e); e == want {
					return seen
				}
				expect.Must(t, ok, "the events ended after %v", seen)
			case <-late:
				t.Fatalf("%q is missing: %v", want, seen)
			}
		}
	}
	if status, _ := fetch(t, url); status != 202 {
		t.Errorf("status %d before the run", status)
	}
	for i := range 2 {
		p := startRun(t, dir, i > 0)
		<-p.reached
		until("changed writing")
		var r report.Report
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			if _, r = fetch(t, url); len(r.Runs) == 2 && r.Rows == 9+6 { // the first run, and rounds 0 to 5
				break
			}
			expect.Must(t, !time.Now().After(deadline), "%d runs with %d rows: must be 2 with 15", len(r.Runs), r.Rows)
		}
		if r.State != rundir.Running || r.Expected != 2 || r.Runs[0].Status != results.Done ||
			r.Runs[1].Status != results.UnderWay {
			t.Errorf("during the run: %s, %+v", r.State, r.Runs)
		}
		close(p.proceed)
		<-p.ended
		seen := until("finished finished")
		if n := len(seen); n < 2 || seen[n-2] != "changed finished" {
			t.Errorf("events %v: the last one must follow the change", seen)
		}
		for _, e := range seen[:max(0, len(seen)-2)] {
			expect.That(t, e == "changed writing", "events %v", seen)
		}
		if status, r := fetch(t, url); status != 200 || r.State != rundir.Complete || r.Rows != 18 {
			t.Errorf("after the run: status %d, %s, %d rows", status, r.State, r.Rows)
		}
	}
	stop()
	for e := range events {
		t.Errorf("event %q after the end", e)
	}
}

// In the fake time of synctest: the first change is sent immediately, later ones at most
// once a second, with heartbeats between. A client that reconnects without a change gets
// no event.
func TestEventInterval(t *testing.T) {
	dir := finishedRun(t)
	manifest := filepath.Join(dir, "manifest.json")
	synctest.Test(t, func(t *testing.T) {
		s := expect.Value(New(Directory(dir)))(t)
		ctx, cancel := context.WithCancel(t.Context())
		go s.watch.run(ctx, s.data.interval)
		start := time.Now()
		listener := &logger{header: http.Header{}, start: start}
		r := httptest.NewRequest("GET", "/events", nil).WithContext(ctx)
		go s.serveEvents(listener, r)
		touch := func(i int) {
			when := time.Unix(int64(1e9+i), 0)
			err := os.Chtimes(manifest, when, when)
			expect.That(t, err == nil, "%v", err)
		}
		synctest.Wait()
		for i := range 25 { // 2.5 s of changes
			touch(i)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		want := []string{"0.0 retry finished", "0.2 changed finished", "1.2 changed finished", "2.2 changed finished",
			"3.2 changed finished", "15.0 comment"}
		if d := cmp.Diff(want, listener.take()); d != "" {
			t.Error(d)
		}

		// Building a report takes 2 s: at most one in 10 s.
		s.data.took.Store(int64(2 * time.Second))
		for i := range 250 {
			touch(100 + i)
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		changes, log := 0, listener.take()
		for _, l := range log {
			if strings.Contains(l, "changed") {
				changes++
			}
		}
		if changes != 3 { // after 0, 10 and 20 s
			t.Errorf("%d changes in 25 s: %v", changes, log)
		}
		time.Sleep(time.Minute)

		seen, _ := s.watch.now()
		back := &logger{header: http.Header{}, start: time.Now()}
		again := httptest.NewRequest("GET", "/events", nil).WithContext(ctx)
		again.Header.Set("Last-Event-ID", idOf(seen))
		go s.serveEvents(back, again)
		synctest.Wait()
		other := httptest.NewRequest("GET", "/events", nil).WithContext(ctx)
		other.Header.Set("Last-Event-ID", "another")
		go s.serveEvents(back, other)
		synctest.Wait()
		if d := cmp.Diff([]string{"0.0 retry", "0.0 retry changed finished"}, back.take()); d != "" {
			t.Error(d)
		}
		cancel()
		synctest.Wait()
	})
}

// logger is a client that records received events and their times.
type logger struct {
	header http.Header
	start  time.Time

	mu  sync.Mutex
	log []string
}

func (l *logger) Header() http.Header { return l.header }
func (l *logger) WriteHeader(int)     {}
func (l *logger) Flush()              {}
func (l *logger) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, fmt.Sprintf("%.1f %s", time.Since(l.start).Seconds(), kinds(string(b))))
	return len(b), nil
}

// take returns the log since the last call.
func (l *logger) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.log
	l.log = nil
	return log
}

// kinds returns the kinds of lines in a part of the stream.
func kinds(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); {
		case name == "" && value != "":
			all = append(all, "comment")
		case name == "retry":
			all = append(all, name)
		case name == "event":
			all = append(all, strings.TrimSpace(value))
		}
	}
	return strings.Join(all, " ")
}

// The number of listeners is limited; a listener that disconnects frees its slot.
func TestMaxListeners(t *testing.T) {
	s := expect.Value(New(Directory(finishedRun(t))))(t)
	server := httptest.NewServer(s)
	defer server.Close()
	defer close(s.closed)
	open := func() *http.Response {
		r := expect.Value(http.Get(server.URL + "/events"))(t)
		return r
	}
	var all []*http.Response
	for range maxListeners {
		r := open()
		expect.Must(t, r.StatusCode == 200, "%v", r.Status)
		all = append(all, r)
	}
	if r := open(); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %s", r.Status)
	}
	err := all[0].Body.Close()
	expect.That(t, err == nil, "%v", err)
	for deadline := time.Now().Add(20 * time.Second); open().StatusCode != 200; time.Sleep(10 * time.Millisecond) {
		expect.Must(t, !time.Now().After(deadline), "the slot of a closed connection is not free")
	}
}

// The server stops promptly with listeners and silent connections, and leaves no goroutine.
func TestStop(t *testing.T) {
	dir := finishedRun(t)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := runtime.NumGoroutine()
	for range 5 {
		url, stop := served(t, dir)
		var all []<-chan string
		for range 10 {
			all = append(all, listen(t, url))
		}
		silent := expect.Value(net.Dial("tcp", strings.Trim(strings.TrimPrefix(url, "http://"), "/")))(t)
		if e := <-all[9]; e != "finished finished" {
			t.Errorf("the first event is %q", e)
		}
		stop()
		for _, events := range all {
			for e := range events {
				expect.That(t, e == "finished finished", "event %q", e)
			}
		}
		err := silent.Close()
		expect.That(t, err == nil, "%v", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(
		10 * time.Millisecond) {
		if time.Now().After(deadline) {
			text := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, were %d:\n%s", runtime.NumGoroutine(), before, text[:runtime.Stack(text, true)])
		}
	}
}

func TestAddresses(t *testing.T) {
	l := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	all := expect.Value(net.Listen("tcp", ":0"))(t)
	defer all.Close()
	expect.That(t, !Loopback(all) && strings.HasPrefix(URL(all), "http://localhost:"), "%s at %s", all.Addr(), URL(all))
	s := expect.Value(New(Directory(filepath.Join(t.TempDir(), "x"))))(t)
	expect.NoError(t, l.Close())
	err := s.Serve(t.Context(), l)
	expect.That(t, err != nil, "Serve succeeds on a closed listener")
}
