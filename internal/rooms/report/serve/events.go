package serve

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"

	"fedsim/results/rundir"
)

// heartbeat is the interval of comments in a stream of events. They prevent proxies from
// closing the connection, and detect clients that have disconnected.
const heartbeat = 15 * time.Second

// serveEvents sends server-sent events: "changed" when the page must fetch the data
// again, "finished" when the run has ended. The first event describes the current
// state. The id of an event identifies that state, so a page that reconnects without a
// change gets no event.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages are connected: close one or retry later", maxListeners),
			http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	out := stream{w, http.NewResponseController(w)}
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	text, lastID := fmt.Sprintf("retry: %d\n\n", time.Second.Milliseconds()), r.Header.Get("Last-Event-ID")
	first := lastID == ""
	for {
		seen, next := s.watch.now()
		if id := idOf(seen); id != lastID {
			text += events(seen.Status, id, first)
			lastID = id
		}
		if text != "" && out.send(text) != nil {
			return // the client has disconnected
		}
		text, first = "", false
		select {
		case <-next:
		case <-ticker.C:
			text = ": heartbeat\n\n"
		case <-r.Context().Done():
			return
		case <-s.closed:
			return
		}
	}
}

// events returns the events for a status. A new page fetches the data without an event.
func events(status rundir.Status, id string, first bool) string {
	text := ""
	if !first || status == rundir.Writing {
		text = event("changed", status, id)
	}
	if status == rundir.Finished || status == rundir.Stopped {
		text += event("finished", status, id)
	}
	return text
}

func event(name string, status rundir.Status, id string) string {
	return fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", name, id, status)
}

// idOf returns an event id for the state of a directory.
func idOf(g rundir.Info) string {
	h := fnv.New64a()
	h.Write([]byte(string(g.Status) + " " + g.Version))
	return fmt.Sprintf("%016x", h.Sum64())
}

// stream is a response without an end.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
}

// send sends text immediately. It fails if the client does not read it in writeTimeout.
func (s stream) send(text string) error {
	err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
