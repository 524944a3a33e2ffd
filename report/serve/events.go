package serve

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"

	"fedsim/results/rundir"
)

// beat is how often a comment tells that the server is there, so that what lies
// between does not take the connection for dead, and who has gone is found out.
const beat = 15 * time.Second

// serveEvents tells a page when to fetch the data again, and when there will be no
// more of them. Its first event says how things stand. An event's id names what it is
// about, so that a page that was cut off and is told nothing new does nothing.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case s.seats <- struct{}{}:
		defer func() { <-s.seats }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages listen already", mostListeners), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	out := stream{w, http.NewResponseController(w)}
	heart := time.NewTicker(beat)
	defer heart.Stop()
	text, told := fmt.Sprintf("retry: %d\n\n", time.Second.Milliseconds()), r.Header.Get("Last-Event-ID")
	first := told == ""
	for {
		seen, next := s.watch.now()
		if id := idOf(seen); id != told {
			text += events(seen.Status, id, first)
			told = id
		}
		if text != "" && out.send(text) != nil {
			return // it has gone
		}
		text, first = "", false
		select {
		case <-next:
		case <-heart.C:
			text = ": the server is there\n\n"
		case <-r.Context().Done():
			return
		case <-s.over:
			return
		}
	}
}

// events are what tells of a phase. Who has just come is fetching the data anyway.
func events(phase rundir.Status, id string, first bool) string {
	over := phase == rundir.Finished || phase == rundir.Stopped
	text := ""
	if !first || phase == rundir.Writing {
		text = event("changed", phase, id)
	}
	if over {
		text += event("finished", phase, id)
	}
	return text
}

func event(name string, phase rundir.Status, id string) string {
	return fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", name, id, phase)
}

// idOf names what was seen.
func idOf(g rundir.Info) string {
	h := fnv.New64a()
	h.Write([]byte(string(g.Status) + " " + g.Version))
	return fmt.Sprintf("%016x", h.Sum64())
}

// stream is an answer that goes on.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
}

// send sends a text at once, and gives up on who does not take it.
func (s stream) send(text string) error {
	err := s.control.SetWriteDeadline(time.Now().Add(writeWait))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
