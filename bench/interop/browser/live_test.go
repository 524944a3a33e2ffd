package browser

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// endless is a run that takes hours, of rounds that take milliseconds.
const endless = `
name = "endless"
[data.synthetic]
tasks = 30
features = 50
rows_min = 200
rows_max = 300
[problem]
optimum_sweeps = 0
[devices]
battery_wh = -1
[run]
rounds = %d
[methods.mocha]
`

// served starts fedsim serve at an address, and returns where the page is and what
// stops the server: without an error, when the test is over at the latest.
func served(t *testing.T, dir, address string) (url string, stop func()) {
	t.Helper()
	if fedsim == "" {
		t.Skip("there is no chromium: make test-browser installs it")
	}
	server := exec.Command(fedsim, "serve", dir, "--addr", address)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := server.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := server.Wait(); err != nil {
			t.Errorf("fedsim serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return strings.TrimSpace(line), stop
}

// A page whose server is away for a while says so, and does not go on saying so.
func TestServerComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	url, stop := served(t, dir, "127.0.0.1:0")
	runFedsim(t, "run", "quickstart", "--out", dir, "--quiet", "--set", "run.rounds=5")
	b := newTab(t, "net::ERR_") // Chromium's own complaints of a server that is not there
	b.do(chromedp.Navigate(url))
	foot := func(text string) {
		t.Helper()
		b.until(fmt.Sprintf(`document.getElementById("foot").textContent.includes(%q)`, text))
	}
	foot("The run is over")
	stop()
	foot("does not answer")
	served(t, dir, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	foot("The run is over")
}

// A page that is open before its run shows it begin, go on and end, and the next one,
// without being touched; what the reader has unfolded stays.
func TestServedPageFollowsARun(t *testing.T) {
	root := t.TempDir()
	dir, scenario := filepath.Join(root, "run"), filepath.Join(root, "endless.toml")
	url, _ := served(t, dir, "127.0.0.1:0")
	write := func(rounds int) {
		t.Helper()
		if err := os.WriteFile(scenario, fmt.Appendf(nil, endless, rounds), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(10_000_000)
	b := newTab(t)
	b.look(1280, false, false)
	b.do(chromedp.Navigate(url))
	b.until(`document.body.textContent.includes("there is no run here yet")`)

	run := exec.Command(fedsim, "run", scenario, "--out", dir, "--quiet")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill() }() // it has ended by now, but after a failure
	b.until(`document.querySelector(".state.running") && document.querySelector("#curves canvas")`)
	b.js(`document.querySelector("#curves").scrollIntoView()`)
	b.picture("running")
	b.js(`window.before = document.querySelector("#runs").textContent`)
	b.until(`document.querySelector("#runs").textContent !== window.before`)
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // 75
	b.until(`document.querySelector(".state.incomplete") && document.body.textContent.includes("The run is over")`)

	write(50)
	runFedsim(t, "run", scenario, "--out", dir, "--quiet", "--force")
	b.until(`document.querySelector(".state.complete") && document.body.textContent.includes("The run is over")`)
	if !ask[bool](b, `window.before !== undefined`) {
		t.Error("the page was loaded again")
	}
	b.picture("over")
}
