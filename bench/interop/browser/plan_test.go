package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page of a plan lists what runs and what failed above the curves, and follows the work.
func TestServedPageFollowsPlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plan")
	runFedsim(t, "plan", "make", "deadline", "-o", dir, "--group-time", "0s", "--set", "run.rounds=5")
	runFedsim(t, "plan", "work", dir)
	done, err := filepath.Glob(filepath.Join(dir, "done", "*"))
	if err != nil || len(done) != 6 {
		t.Fatalf("%d groups are done, %v", len(done), err)
	}
	for _, group := range done[2:] {
		if err := errors.Join(os.RemoveAll(group),
			os.Remove(filepath.Join(dir, "claims", filepath.Base(group)+".json"))); err != nil {
			t.Fatal(err)
		}
	}
	var state struct {
		Items []struct{ ID, Kind, State string }
	}
	if err := json.Unmarshal([]byte(runFedsim(t, "show", dir, "--json")), &state); err != nil {
		t.Fatal(err)
	}
	var waiting []string
	for _, item := range state.Items {
		if item.Kind == "group" && item.State == "waiting" {
			waiting = append(waiting, item.ID)
		}
	}
	if len(waiting) < 3 {
		t.Fatalf("%d groups wait: the test needs 3", len(waiting))
	}
	claim, failure := filepath.Join(dir, "claims", waiting[0]+".json"), filepath.Join(dir, "claims", waiting[1]+".json")
	for file, text := range map[string]string{
		claim: `{"worker": "node7-1", "host": "node7", "process": {"pid": 4242}, "share": 0.42, "took_s": 95}`,
		failure: `{"worker": "node8-1", "ended": true, "failure": "write rounds.parquet: no space left on device", ` +
			`"host": "node8"}`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	url, _ := served(t, dir, "127.0.0.1:0")
	b := newTab(t)
	b.look(1280, false, false)
	b.do(chromedp.Navigate(url))
	for _, text := range []string{"node7", "4242", "42 %", "no space left on device", waiting[1][:8]} {
		b.until(fmt.Sprintf(`document.getElementById("plan")?.textContent.includes(%q)`, text))
	}
	b.until(`document.body.textContent.includes("1 failed, 1 running")`)
	b.js(`document.getElementById("results").scrollIntoView()`) // charts are drawn when they are near
	b.until(`document.querySelector("#results canvas")`)
	b.until(`document.getElementById("foot").textContent === "Following the work"`)
	b.picture("plan")
	b.look(390, true, true)
	if ask[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("the page of a telephone scrolls sideways")
	}
	b.picture("plan-phone")
	for _, file := range []string{claim, failure} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	runFedsim(t, "plan", "work", dir)
	b.until(`document.getElementById("plan").textContent.includes("fedsim plan merge") && ` +
		`document.getElementById("foot").textContent === "All groups are done"`)
	if text := ask[string](b, `document.body.innerText`); !strings.Contains(text, "6 of 6 done") ||
		strings.Contains(text, "node7") {
		t.Errorf("at the end: %s", text)
	}
}
