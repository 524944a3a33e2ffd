package serve

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ServeHTTP serves GET and HEAD requests of /, /data and /events.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !s.allowed(r.Host) {
		http.Error(w, "unknown host "+printable(r.Host)+": open the address that fedsim report --live printed",
			http.StatusMisdirectedRequest)
		return
	}
	var handler func(http.ResponseWriter, *http.Request)
	switch r.URL.Path { // decoded, not cleaned
	case "/":
		handler = s.servePage
	case "/data":
		handler = s.serveData
	case "/events":
		handler = s.serveEvents
	default:
		http.Error(w, "not found: the paths are /, /data and /events", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed: use GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	handler(w, r)
}

// allowed reports whether host is a name of this server.
func (s *Server) allowed(host string) bool {
	return s.hosts == nil || slices.Contains(s.hosts, strings.ToLower(host))
}

// printable returns at most 80 characters of text, with ? for unprintable ones.
func printable(text string) string {
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
