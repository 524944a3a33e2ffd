package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results"
	"fedsim/results/rundir"
)

// browse runs a server, requests paths, terminates it, and exits with its status:
// browse PATH... -- COMMAND... It prints the first event of /events.
func browse() {
	at := slices.Index(os.Args, "--")
	cmd := exec.Command(os.Args[at+1], os.Args[at+2:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		fail(err)
	}
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	url := printedURL(bufio.NewReader(io.TeeReader(out, os.Stdout)))
	for _, path := range os.Args[1:at] {
		answer, err := http.Get(strings.TrimSuffix(url, "/") + path)
		if err != nil {
			fail(err)
		}
		fmt.Printf("%s: %d %s\n", path, answer.StatusCode, answer.Header.Get("Content-Type"))
		if path == "/events" {
			for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "event: ") {
					fmt.Println(lines.Text())
					break
				}
			}
		}
		_ = answer.Body.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		fail(err)
	}
	if _, err := io.Copy(os.Stdout, out); err != nil {
		fail(err)
	}
	exitAs(cmd.Wait())
}

// printedURL reads the address of a server from a line or from JSON.
func printedURL(out *bufio.Reader) string {
	text := ""
	for {
		line, err := out.ReadString('\n')
		text += line
		if strings.HasPrefix(text, "http") || strings.HasSuffix(text, "}\n") || err != nil {
			break
		}
	}
	var s serving
	if json.Unmarshal([]byte(text), &s) == nil {
		return s.URL
	}
	return strings.TrimSpace(text)
}

// A report that is open before its run starts shows the run in progress, killed, resumed,
// interrupted and complete. It does not affect the run.
func TestServeFollowsProcesses(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "runs", "x")
	scenario := filepath.Join(root, "x.toml")
	text := `
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
rounds = 10_000_000
max_time_s = %s
[methods.mocha]
`
	// The first run would take hours; the last ends at once.
	filetest.Write(t, scenario, fmt.Appendf(nil, text, "1e9"))
	server := exec.Command("fedsim", "report", dir, "--live")
	out, err := server.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, server.Start())
	defer func() { _ = server.Process.Kill() }() // it has ended unless the test failed
	url := printedURL(bufio.NewReader(out))
	answer, err := http.Get(url + "events")
	expect.NoError(t, err)
	defer answer.Body.Close()
	events := make(chan string, 1000)
	go func() {
		defer close(events)
		name := ""
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if x, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = x
			}
			if x, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- name + " " + x
			}
		}
	}()
	until := func(want string) {
		t.Helper()
		late := time.After(60 * time.Second)
		for {
			select {
			case e := <-events:
				if e == want {
					return
				}
				// The directory is absent between the deletion of the old run and the start.
				if e != "changed writing" && e != "changed stopped" && e != "changed finished" &&
					e != "changed absent" {
					t.Fatalf("event %q, waiting for %q", e, want)
				}
			case <-late:
				t.Fatalf("no event %q", want)
			}
		}
	}
	data := func() (r report.Report) {
		t.Helper()
		answer := expect.Value(http.Get(url + "data"))(t)
		defer answer.Body.Close()
		expect.NoError(t, json.NewDecoder(answer.Body).Decode(&r))
		return r
	}

	run := exec.Command("fedsim", "run", scenario, "--out", dir, "-q", "--checkpoint=0.1", "--workers=1")
	expect.NoError(t, run.Start())
	until("changed writing")
	until("changed writing")
	before := data()
	until("changed writing")
	if after := data(); before.State != rundir.Running || len(after.Runs) != 1 ||
		after.Runs[0].Status != results.UnderWay || after.Rows <= before.Rows {
		t.Errorf("while it runs: %s, %d rows, then %d", before.State, before.Rows, after.Rows)
	}
	expect.NoError(t, run.Process.Kill())
	_ = run.Wait() // it was killed
	until("finished stopped")
	if r := data(); r.State != rundir.Incomplete || r.Runs[0].Status != results.Interrupted {
		t.Errorf("killed: %s, %+v", r.State, r.Runs)
	}

	run = exec.Command("fedsim", "run", "--resume", dir, "-q", "--workers=1")
	expect.NoError(t, run.Start())
	until("changed writing")
	expect.NoError(t, run.Process.Signal(os.Interrupt))
	_ = run.Wait() // 75
	until("finished finished")
	if r := data(); r.State != rundir.Incomplete {
		t.Errorf("interrupted: %s, %+v", r.State, r.Runs)
	}

	filetest.Write(t, scenario, fmt.Appendf(nil, text, "10"))
	if out, err := exec.Command("fedsim", "run", scenario, "--out", dir, "--force", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	until("finished finished")
	if r := data(); r.State != rundir.Complete || r.Runs[0].Status != results.Done {
		t.Errorf("overwritten: %s, %+v", r.State, r.Runs)
	}

	expect.NoError(t, server.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	if err := errors.Join(err, server.Wait()); err != nil || len(rest) > 0 {
		t.Errorf("interrupted: %v, %q", err, rest)
	}
}
