package browser

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fedsim/results/rundir"
)

var madePage = flag.String("page", "", "folder of fedsim-web; empty: it is made")

// pageFolder makes the page in which scenarios run.
var pageFolder = sync.OnceValues(func() (string, error) {
	if *madePage != "" {
		return *madePage, nil
	}
	folder := filepath.Join(filepath.Dir(fedsim), "page")
	build := exec.Command("go", "run", "./cmd/fedsim-web", folder)
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return folder, nil
})

// pageServer serves the page as any server of files does, without further headers.
func pageServer(t *testing.T) (url string, stop func()) {
	t.Helper()
	if fedsim == "" {
		t.Skip("needs Chromium: make test-browser installs it")
	}
	folder, err := pageFolder()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(folder))}
	go func() { _ = server.Serve(listener) }()
	stop = func() { _ = server.Close() }
	t.Cleanup(stop)
	return "http://" + listener.Addr().String() + "/", stop
}

// ended waits until the page is in a state, which may take long on a busy machine.
func (ta *tab) ended(state string) {
	ta.t.Helper()
	const expression = "document.body.dataset.state"
	for start := time.Now(); time.Since(start) < 150*time.Second; time.Sleep(20 * time.Millisecond) {
		if ask[string](ta, expression) == state {
			return
		}
	}
	ta.t.Fatalf("the page is %s, not %s: %s", ask[string](ta, expression), state, ta.said("state"))
}

// said returns the text of an element.
func (ta *tab) said(id string) string {
	ta.t.Helper()
	return ask[string](ta, fmt.Sprintf(`document.getElementById(%q).textContent`, id))
}

// measured returns the number that statements return, which may wait.
func (ta *tab) measured(statements string) float64 {
	ta.t.Helper()
	ta.js("window.measured = null; (async () => { " + statements + " })().then((x) => { window.measured = x; })")
	ta.until("window.measured !== null")
	return ask[float64](ta, "window.measured")
}

// key presses a key at the editor. (Chromium's own protocol types the character of a key that a page has prevented.)
func (ta *tab) key(name string, control bool) {
	ta.t.Helper()
	ta.js(fmt.Sprintf(`document.activeElement.dispatchEvent(
		new KeyboardEvent("keydown", {key: %q, ctrlKey: %v, bubbles: true, cancelable: true}))`, name, control))
}

// set replaces the text of the editor.
func (ta *tab) set(text string) {
	ta.t.Helper()
	ta.js(fmt.Sprintf(`const area = document.querySelector("textarea"); area.focus(); area.select();
		document.execCommand("insertText", false, %q)`, text))
}

// nativeRun runs a scenario natively and returns its hash and the fragment of a link to it.
func nativeRun(t *testing.T, name string, more ...string) (hash, fragment string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	runFedsim(t, append([]string{"run", name, "--quiet", "--out", dir}, more...)...)
	figures, err := filepath.Glob(filepath.Join(dir, "figures", "*.svg"))
	if err != nil || len(figures) == 0 {
		t.Fatalf("no figures: %v", err)
	}
	text, err := os.ReadFile(figures[0])
	if err != nil {
		t.Fatal(err)
	}
	claim, err := rundir.FindClaim(text)
	if err != nil || claim == nil {
		t.Fatalf("no claim: %v", err)
	}
	return claim.Hash.String(), claim.String()
}

// The page opens on a scenario and runs it with the bits of the native program, without blocking; it does so again
// without a network.
func TestPageRuns(t *testing.T) {
	url, stop := pageServer(t)
	b := newTab(t)
	b.look(1280, false, false)
	b.do(chromedp.Navigate(url))
	b.until(`document.querySelector("#legend span")`)
	b.picture("page-running")
	b.ended("done")
	t.Logf("opened to figure: %.1f s; %s", ask[float64](b, `performance.now()`)/1000, b.said("state"))
	hash, _ := nativeRun(t, "quickstart-small")
	if got := ask[string](b, `document.body.dataset.hash`); got != hash {
		t.Errorf("the hash is %s, natively %s", got, hash)
	}
	b.until(`document.querySelector("figure img").naturalWidth > 300`)
	longest := b.measured(`const list = [0];
		new PerformanceObserver((l) => list.push(...l.getEntries().map((e) => e.duration)))
			.observe({type: "longtask", buffered: true});
		await new Promise((r) => setTimeout(r, 100));
		return Math.max(...list);`)
	t.Logf("longest task of the page: %.0f ms (0: below 50)", longest)
	if longest > 2000 { // at most 50 on an idle machine; a page that computes by itself is still for a whole run
		t.Errorf("the page was still for %.0f ms", longest)
	}
	b.picture("page-done")
	b.look(1280, true, false)
	b.picture("page-dark")
	b.look(360, false, true)
	if wide := ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		t.Errorf("at 360 pixels, the page is %v pixels too wide", wide)
	}
	b.picture("page-360")
	b.until(`navigator.serviceWorker.controller`)
	stop()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	b.ended("done")
	if got := ask[string](b, `document.body.dataset.hash`); got != hash {
		t.Errorf("without a network, the hash is %s", got)
	}
}

// Errors are marked at their line; keys are completed from the keyboard; a run is canceled at once.
func TestPageEditsAndCancels(t *testing.T) {
	url, _ := pageServer(t)
	b := newTab(t)
	b.look(1280, false, false)
	b.do(chromedp.Navigate(url + "#outage"))
	b.until(`!document.getElementById("run").disabled`)
	b.set("[run]\nrounds = 1\nrouns = 2\n[faults]\ndrop_probability = 1.4\n[methods.fedavg]\n")
	b.until(`document.querySelectorAll("#problems button").length === 1 && document.querySelector(".t-wrong")`)
	if got := b.said("problems"); !strings.HasPrefix(got, "line 3: ") {
		t.Errorf("the first error is %q", got)
	}
	b.picture("page-errors")
	b.js(`document.querySelector("#problems button").click()`)
	if got := ask[string](b, `document.activeElement.value.slice(0, document.activeElement.selectionStart)`); got !=
		"[run]\nrounds = 1\n" {
		t.Errorf("the error leads to %q", got)
	}
	b.set("[methods.fedavg]\n[network]\n")
	b.do(chromedp.KeyEvent("prof"))
	b.until(`document.querySelector(".offers:not([hidden]) li")`)
	b.picture("page-completion")
	b.key("Enter", false)
	b.until(`document.querySelector(".offers:not([hidden]) li")?.textContent.startsWith('"')`)
	b.key("ArrowDown", false)
	b.key("Enter", false)
	text := ask[string](b, `document.querySelector("textarea").value`)
	if !strings.Contains(text, `profile = "`) || strings.Contains(text, "prof\n") {
		t.Errorf("the completed text is %q", text)
	}
	for _, scenario := range []string{
		"[problem]\nmodel = \"external\"\nprogram = { command = [\"sh\"] }\n[run]\nrounds = 1\n[methods.fedavg]\n",
		"[data]\npath = \"/etc/passwd\"\nsource = \"csv\"\nlabel_column = \"x\"\n[run]\nrounds = 1\n[methods.fedavg]\n",
	} {
		b.set(scenario)
		b.until(`!document.getElementById("check").textContent.startsWith("…")`)
		if !ask[bool](b, `document.getElementById("run").disabled`) {
			t.Errorf("the page runs %s", scenario)
		}
	}

	b.js(`document.getElementById("which").value = "quickstart"; document.getElementById("which").onchange()`)
	b.until(`!document.getElementById("run").disabled`)
	b.key("Enter", true)
	b.ended("running")
	b.until(`document.querySelector("#legend span")`)
	took := b.measured(`const start = performance.now();
		document.getElementById("cancel").click();
		while (document.body.dataset.state === "running") await new Promise((r) => setTimeout(r, 1));
		return performance.now() - start;`)
	t.Logf("canceled in %.0f ms: %s", took, b.said("state"))
	if took > 5000 { // at most 200 on an idle machine; the run takes longer
		t.Errorf("canceled after %.0f ms", took)
	}
	b.until(`!document.getElementById("run").disabled`)
}

// A link brings its scenario and the hash that a run must give. A text that is no link is an error of one line.
func TestPageOpensLinks(t *testing.T) {
	url, _ := pageServer(t)
	hash, fragment := nativeRun(t, "outage", "--set", "run.seeds=[1]")
	for text, want := range map[string]string{
		fragment: "the same as that of the link or file",
		strings.Replace(fragment, hash, "00000000deadbeef", 1): "that of the link or file, 00000000deadbeef (the",
	} {
		b := newTab(t)
		b.do(chromedp.Navigate(url + "#" + text))
		b.until(`!document.getElementById("run").disabled`)
		b.js(`document.getElementById("run").click()`)
		b.ended("done")
		if got := b.said("hash"); !strings.Contains(got, hash) || !strings.Contains(got, want) {
			t.Errorf("the page says %q, want %q", got, want)
		}
		b.picture("page-link")
	}
	for _, broken := range []string{"s=%%%", "s=AAAA", "s=" + strings.Repeat("A", 1<<20), "Nothing"} {
		b := newTab(t)
		b.do(chromedp.Navigate(url + "#" + broken))
		b.ended("failed")
		if got := b.said("state"); !strings.HasPrefix(got, "The link cannot be read: ") || strings.Contains(got, "\n") {
			t.Errorf("%.20s: the page says %q", broken, got)
		}
	}
}

// The file that has all of the page runs from a disk, with the same bits.
func TestPageInOneFile(t *testing.T) {
	pageServer(t)
	folder, err := pageFolder()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.do(chromedp.Navigate("file://" + filepath.Join(folder, "fedsim.html") + "#theory"))
	b.until(`!document.getElementById("run").disabled`)
	b.js(`document.getElementById("run").click()`)
	b.ended("done")
	hash, _ := nativeRun(t, "theory")
	if got := ask[string](b, `document.body.dataset.hash`); got != hash {
		t.Errorf("the hash is %s, natively %s", got, hash)
	}
}
