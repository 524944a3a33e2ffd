// Package serve serves the report of a run directory, or of another source, over HTTP,
// usually to a browser on the same machine, and updates it while the source changes.
//
//	/        the page of package report
//	/data    the report as JSON; status 202 and a text if there is no run yet
//	/events  server-sent events: changed and finished
//
// The server never reads files outside of the directory. The directory may not exist yet,
// and runs in it may start, end, be resumed or be replaced; the page follows.
//
// The package must not know the format of a directory or how the page shows it.
package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"fedsim/internal/rooms/report"
)

// Server serves one source. It is an http.Handler.
type Server struct {
	page   []byte
	policy string // Content-Security-Policy of the page
	watch  *watch
	data   data
	slots  chan struct{} // one entry per listener to events
	closed chan struct{} // closed when the server stops
	hosts  []string      // allowed Host headers; nil: any
}

// maxListeners is the maximum number of listeners to events.
const maxListeners = 64

// Timeouts against slow or silent clients.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = time.Minute
	writeTimeout  = 30 * time.Second
	stopTimeout   = 300 * time.Millisecond
)

// New returns a server for a source. It returns the error of its Stat: for a directory or
// file that is no run directory, an error that wraps rundir.ErrForeign.
func New(from Source) (*Server, error) {
	s := &Server{data: data{from: from}, slots: make(chan struct{}, maxListeners), closed: make(chan struct{})}
	var page bytes.Buffer
	var err error
	if s.policy, err = report.Live(&page); err != nil {
		return nil, err
	}
	s.page = page.Bytes()
	if s.watch, err = newWatch(from.Stat); err != nil {
		return nil, err
	}
	return s, nil
}

// Loopback reports whether the listener accepts connections from this machine only.
func Loopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// URL returns the URL of the page, for a browser on this machine.
func URL(l net.Listener) string {
	tcp, ok := l.Addr().(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d/", tcp.Port)
	}
	return "http://" + l.Addr().String() + "/"
}

// Serve serves requests until ctx ends, closes the listener and returns nil. It must be
// called only once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if Loopback(l) {
		s.hosts = loopbackHosts(l.Addr())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.watch.run(ctx, s.data.interval)
	}()
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		WriteTimeout:      writeTimeout, // serveEvents extends it
		MaxHeaderBytes:    1 << 14,
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		close(s.closed)
		soon, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err := server.Shutdown(soon)
		if errors.Is(err, context.DeadlineExceeded) { // close the remaining connections
			err = server.Close()
		}
		stopped <- err
	}()
	err := server.Serve(l)
	cancel()
	<-watching
	if stop := <-stopped; errors.Is(err, http.ErrServerClosed) {
		return stop
	}
	return err
}

// loopbackHosts returns the Host headers that a browser on this machine sends to a
// loopback address. Any other name may be a DNS rebinding attack.
func loopbackHosts(address net.Addr) []string {
	_, port, _ := net.SplitHostPort(address.String())
	hosts := []string{address.String()}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
	}
	if port == "80" { // browsers omit the default port
		for _, h := range hosts[:len(hosts):len(hosts)] {
			hosts = append(hosts, strings.TrimSuffix(h, ":80"))
		}
	}
	return hosts
}
