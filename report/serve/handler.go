package serve

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ServeHTTP answers GET and HEAD of the three paths that there are.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !s.called(r.Host) {
		http.Error(w, "this server is not called "+safe(r.Host)+": open the address that fedsim serve printed", http.StatusMisdirectedRequest)
		return
	}
	var answer func(http.ResponseWriter, *http.Request)
	switch r.URL.Path { // decoded, and taken as it is
	case "/":
		answer = s.servePage
	case "/data":
		answer = s.serveData
	case "/events":
		answer = s.serveEvents
	default:
		http.Error(w, "there is nothing here: there are /, /data and /events", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered", http.StatusMethodNotAllowed)
		return
	}
	answer(w, r)
}

// called reports whether a request means this server.
func (s *Server) called(host string) bool {
	return s.hosts == nil || slices.Contains(s.hosts, strings.ToLower(host))
}

// safe returns a text without what is not printed, and not too much of it.
func safe(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), 80)]
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", s.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", tag(s.page))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.page))
}
