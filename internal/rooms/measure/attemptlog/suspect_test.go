package attemptlog

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// rounds writes a log of ten rounds of five clients. Client k responds after 1 + k + wobble seconds. A round ends after
// length(round) seconds, at most; what is not complete then is late, or lost if the log has no late responses.
func rounds(settings string, length func(round int) float64, late bool) string {
	var b strings.Builder
	b.WriteString(settings + "round,client,bytes_down,bytes_up,sent_s,seen_s,outcome\n")
	at := 0.0
	for h := range 10 {
		end := length(h)
		for k := range 5 {
			response := 1 + float64(k) + 0.3*math.Sin(float64(h*(k+1)))
			seen, outcome := fmt.Sprint(at+response), Taken
			if response > end {
				if outcome = Late; !late {
					seen, outcome = "", Lost
				}
			}
			fmt.Fprintf(&b, "%d,%d,100,100,%g,%s,%s\n", h, k, at, seen, outcome)
		}
		at += end + 0.01
	}
	return b.String()
}

// third returns when the third response of a round of rounds has arrived.
func third(h int) float64 { return 3 + 0.3*math.Sin(float64(3*h)) }

// Logs whose rounds do not wait for all say so, and what they suggest; others do not.
func TestRoundsThatEndEarly(t *testing.T) {
	all := func(h int) float64 { return 5 + 0.3*math.Sin(float64(5*h)) }
	alone := "round,client,bytes_down,bytes_up,sent_s,seen_s\n"
	for h := range 6 {
		alone += fmt.Sprintf("%d,%d,100,100,%d,%g\n", h, h%3, h, float64(h)+2.5)
	}
	const first = `suggest #! federation.protocol = "first", #! federation.clients_per_round = 3 and #! ` +
		`federation.protocol_options.over_selection = 1.67;`
	for name, c := range map[string]struct{ text, want string }{
		"all are waited for": {rounds("", all, true), ""},
		"the third ends a round": {rounds("", third, true),
			"10 of 10 rounds end before all responses have arrived, and no line with #! names the protocol: " +
				"its rounds " + first},
		"the others are lost": {rounds("", third, false), first},
		"a deadline": {rounds("", func(int) float64 { return 3.5 }, false),
			`suggest #! federation.protocol = "deadline" and #! federation.deadline_s = 3.51;`},
		"it is named":          {rounds("#! federation.protocol = \"first\"\n", third, true), ""},
		"one after another":    {alone, `suggest #! federation.protocol = "asynchronous"`},
		"lost, and waited for": {strings.ReplaceAll(rounds("", all, true), "4,taken", "4,failed"), ""},
		"irregular": {rounds("", func(h int) float64 { return 2 + float64(h%3) }, true),
			"predictions wait for all; name the protocol"},
	} {
		log, err := Read(file(t, "log.csv", c.text))
		expect.Must(t, err == nil, "%s: %v", name, err)
		if notes := strings.Join(log.Notes, "\n"); c.want == "" && notes != "" || !strings.Contains(notes, c.want) {
			t.Errorf("%s: notes %q, want %q", name, notes, c.want)
		}
	}
}

// Failed attempts, and lost ones for which the server waits, end no round early.
func TestServersThatWaitForLostResponses(t *testing.T) {
	text := "round,client,bytes_down,bytes_up,sent_s,seen_s,outcome\n"
	for h := range 8 {
		text += fmt.Sprintf("%d,a,100,100,%d,%d,taken\n%d,b,100,100,%d,,lost\n%d,c,100,100,%d,,failed\n", h, 60*h,
			60*h+2, h, 60*h, h, 60*h)
	}
	log, err := Read(file(t, "log.csv", text))
	expect.That(t, err == nil && len(log.Notes) == 0, "notes %q, %v", log.Notes, err)
}

// Uplinks of two clients of 10 Mbit/s, 1 MB each, on a link of the given capacity: pairs of transfers begin 0.1 s
// apart, or far apart.
func TestTransfersOnASharedLink(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		capacity float64 // 10^6 bit/s
		jitter   float64
		every    int // rounds of one with transfers that overlap
		want     bool
	}{
		"shared":          {"", 12, 0, 2, true},
		"shared, noisy":   {"", 12, 0.3, 2, true},
		"not shared":      {"", math.Inf(1), 0.3, 2, false},
		"hardly shared":   {"", 19, 0, 2, false},
		"shared by key":   {"#! network.server_up_mbps = 12\n", 12, 0, 2, false},
		"without overlap": {"", 12, 0, 1000, false},
		"too few":         {"", 12, 0, 20, false},
	} {
		text := c.settings + "round,client,bytes_down,bytes_up,sent_s,reply_first_s,seen_s\n"
		at := 0.0
		for h := range 80 {
			slow := 1 + c.jitter*math.Sin(float64(7*h))
			apart := 0.1
			if h%c.every != 1 {
				apart = 5
			}
			for k := range 2 {
				seconds := 0.8
				if apart < 1 {
					seconds = 8 * 2 / min(20, c.capacity)
				}
				begin := at + 1 + float64(k)*apart
				text += fmt.Sprintf("%d,%d,100,1000000,%g,%g,%g\n", h, k, at, begin, begin+seconds*slow)
			}
			at += 10
		}
		log, err := Read(file(t, "log.csv", text))
		expect.Must(t, err == nil, "%s: %v", name, err)
		got := strings.Contains(strings.Join(log.Notes, "\n"), "do clients share a link?")
		expect.That(t, got == c.want, "%s: notes %q", name, log.Notes)
	}
}
