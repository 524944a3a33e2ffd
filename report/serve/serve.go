// Package serve shows a run directory to browsers on this machine while a run writes
// it: the page of package report, its data, and the events that tell the page when
// there are new ones.
//
//	/        the page
//	/data    the report as JSON; 202 while there is none, and why in words
//	/events  server-sent events: changed, and finished
//
// There is nothing else, and nothing outside of the directory is ever read. The
// directory need not be there yet; a run in it may begin, end, be gone on with or be
// made anew, all of which shows.
//
// It must not know what is in a run directory, nor how a page shows it.
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

	"fedsim/report"
)

// Server shows one run directory. It is an http.Handler.
type Server struct {
	dir    string
	page   []byte
	policy string // Content-Security-Policy of the page
	watch  *watch
	data   data
	seats  chan struct{} // one for each who listens to events
	over   chan struct{} // closed when the server stops
	hosts  []string      // names that a request may call the server by; nil: any
}

// mostListeners is how many may listen to events at a time.
const mostListeners = 64

// Waits of the server: nobody who is slow or silent holds it up.
const (
	headerWait = 5 * time.Second
	idleWait   = time.Minute
	writeWait  = 30 * time.Second
	stopWait   = 300 * time.Millisecond
)

// New returns a server of a run directory. Its error for a path that is there and is
// no run directory wraps results.ErrForeign.
func New(dir string) (*Server, error) {
	s := &Server{dir: dir, seats: make(chan struct{}, mostListeners), over: make(chan struct{})}
	var page bytes.Buffer
	var err error
	if s.policy, err = report.Live(&page); err != nil {
		return nil, err
	}
	s.page = page.Bytes()
	s.data.dir = dir
	if s.watch, err = newWatch(dir); err != nil {
		return nil, err
	}
	return s, nil
}

// Listen opens the address, host:port, for Serve. Port 0 is any that is free.
func Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Loopback reports whether only this machine can reach a listener.
func Loopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// URL returns where the page of a listener is, for a browser on this machine.
func URL(l net.Listener) string {
	tcp, ok := l.Addr().(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d/", tcp.Port)
	}
	return "http://" + l.Addr().String() + "/"
}

// Serve answers at the listener, which it closes, until ctx ends; then it returns nil.
// It is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if Loopback(l) {
		s.hosts = loopbackHosts(l.Addr())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.watch.run(ctx, s.data.pace)
	}()
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerWait,
		IdleTimeout:       idleWait,
		WriteTimeout:      writeWait, // events have a wait for each of their own
		MaxHeaderBytes:    1 << 14,
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		close(s.over)
		soon, cancel := context.WithTimeout(context.Background(), stopWait)
		defer cancel()
		err := server.Shutdown(soon)
		if errors.Is(err, context.DeadlineExceeded) { // who does not read is cut off
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

// loopbackHosts are the names by which a browser on this machine asks for an address
// of it. Any other has been made to point here by someone else (DNS rebinding).
func loopbackHosts(address net.Addr) []string {
	_, port, _ := net.SplitHostPort(address.String())
	hosts := []string{address.String()}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
	}
	if port == "80" { // which browsers leave out
		for _, h := range hosts[:len(hosts):len(hosts)] {
			hosts = append(hosts, strings.TrimSuffix(h, ":80"))
		}
	}
	return hosts
}
