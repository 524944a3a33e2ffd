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

// endless is a scenario of hours with rounds of milliseconds.
const endless = `
name = "endless"
[data.synthetic]
clients = 30
features = 50
rows_min = 200
rows_max = 300
[problem]
optimum.when = "never"
[devices]
battery.wh = "mains"
[run]
rounds = %d
[methods.mocha]
`

// served starts fedsim report --live at an address and returns the URL of the page. stop stops the
// server, at the latest at the end of the test, and fails the test on an error.
func served(t *testing.T, dir, address string) (url string, stop func()) {
	t.Helper()
	if fedsim == "" {
		t.Skip("needs Chromium: make test-browser installs it")
	}
	server := exec.Command(fedsim, "report", dir, "--live", "--addr", address)
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
			t.Errorf("fedsim report --live: %v", err)
		}
	})
	t.Cleanup(stop)
	return strings.TrimSpace(line), stop
}

// A page displays the loss of its server, and recovers when the server is back.
func TestServerRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	url, stop := served(t, dir, "127.0.0.1:0")
	runFedsim(t, "run", "deadline", "--out", dir, "--quiet", "--set", "run.rounds=5")
	b := newTab(t, "net::ERR_") // Chromium logs failed connections
	b.do(chromedp.Navigate(url))
	foot := func(text string) {
		t.Helper()
		b.until(fmt.Sprintf(`document.getElementById("foot").textContent.includes(%q)`, text))
	}
	foot("The run has ended")
	stop()
	foot("does not respond")
	served(t, dir, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	foot("The run has ended")
}

// A page that is open before its run follows the run and the next one without a reload.
func TestServedPageFollowsRun(t *testing.T) {
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
	b.until(`document.body.textContent.includes("no run yet")`)

	run := exec.Command(fedsim, "run", scenario, "--out", dir, "--quiet")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill() }() // only after a failure of the test
	b.until(`document.querySelector(".state.running") && document.querySelector("#results canvas")`)
	b.js(`document.querySelector("#results").scrollIntoView()`)
	b.picture("running")
	b.js(`window.before = document.querySelector("#runs").textContent`)
	b.until(`document.querySelector("#runs").textContent !== window.before`)
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // status 75
	b.until(`document.querySelector(".state.incomplete") && document.body.textContent.includes("The run has ended")`)

	write(50)
	runFedsim(t, "run", scenario, "--out", dir, "--quiet", "--force")
	b.until(`document.querySelector(".state.complete") && document.body.textContent.includes("The run has ended")`)
	if !ask[bool](b, `window.before !== undefined`) {
		t.Error("the page was reloaded")
	}
	b.picture("over")
}
