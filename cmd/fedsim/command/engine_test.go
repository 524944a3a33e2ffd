package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results"
	"fedsim/results/rundir"
)

// engineProcess is a driver of fedsim engine.
type engineProcess struct {
	t      testing.TB
	cmd    *exec.Cmd
	to     io.WriteCloser
	from   *bufio.Reader
	stdout io.Closer
	stderr bytes.Buffer
}

// startEngine starts fedsim engine in a directory.
func startEngine(t testing.TB, dir string, args ...string) *engineProcess {
	t.Helper()
	p := &engineProcess{t: t, cmd: exec.Command("fedsim", append([]string{"engine"}, args...)...)}
	p.cmd.Dir, p.cmd.Stderr = dir, &p.stderr
	from, err := p.cmd.StdoutPipe()
	expect.NoError(t, err)
	if p.to, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.from, p.stdout = bufio.NewReader(from), from
	expect.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// ask sends a line and returns the line that comes back.
func (p *engineProcess) ask(format string, arguments ...any) string {
	p.t.Helper()
	line := fmt.Sprintf(format, arguments...)
	if _, err := io.WriteString(p.to, line+"\n"); err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	answer, err := p.from.ReadString('\n')
	if err != nil {
		_ = p.cmd.Wait()
		p.t.Fatalf("%s: %v\n%s", line, err, p.stderr.String())
	}
	return answer
}

// into sends a line and decodes the response, which must not be an error.
func (p *engineProcess) into(answer any, format string, arguments ...any) {
	p.t.Helper()
	text := p.ask(format, arguments...)
	if strings.HasPrefix(text, `{"error":`) {
		p.t.Fatalf(format+": %s", append(arguments, text)...)
	}
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
}

// wait closes the input and returns the exit status and standard error.
func (p *engineProcess) wait() (int, string) {
	p.t.Helper()
	_ = p.to.Close()
	_, _ = io.Copy(io.Discard, p.from)
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode(), p.stderr.String()
}

// timed is a scenario of timing mode whose devices differ.
const timed = `
name = "timed"
[data.synthetic]
clients = 12
features = 50
rows_min = 20
rows_max = 90
[network]
profile = "lte"
[devices]
[run]
mode = "timing"
rounds = 8
devices = true
[methods.fedavg]
`

// cost is the work of a device in a round.
type cost struct{ flops, down, up float64 }

// costs runs a scenario without faults, and returns the work of each device.
func costs(t *testing.T, dir string) map[int]cost {
	t.Helper()
	out, err := inDir(dir, "run", "timed.toml", "--out", "costs", "--no-figures", "--set", "run.rounds=1")
	expect.Must(t, err == nil, "%v\n%s", err, out)
	all := map[int]cost{}
	err = rundir.Devices(filepath.Join(dir, "costs"), func(_ string, row *results.DeviceRow) error {
		all[row.Device] = cost{row.FLOPs, row.BytesDown, row.BytesUp}
		return nil
	})
	expect.Must(t, err == nil && len(all) == 12, "%d devices, %v", len(all), err)
	return all
}

// inDir runs fedsim in a directory.
func inDir(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("fedsim", args...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// A driver has the events of timing mode: under wait-for-all when it waits itself, and
// under every protocol with rounds that plays them as a policy. Three repetitions have the
// same bits.
func TestEngineHasTheEventsOfTimingMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "timed.toml"), timed)
	of := costs(t, dir)
	for _, c := range []struct {
		name   string
		policy bool
		set    []string
	}{
		{"waits", false, nil},
		{"wait-for-all", true, []string{"faults.drop_probability=0.2", "network.jitter=0.3"}},
		{"deadline", true,
			[]string{"federation.protocol=deadline", "federation.deadline_s=0.2",
				"federation.protocol_options.fit_work=false",
				"faults.drop_probability=0.2", "network.jitter=0.3"}},
		{"first", true,
			[]string{"federation.protocol=first", "federation.clients_per_round=5",
				"federation.protocol_options.over_selection=1.5",
				"faults.drop_probability=0.2", "network.jitter=0.3"}},
	} {
		var set []string
		for _, s := range c.set {
			set = append(set, "--set", s)
		}
		if out, err := inDir(dir,
			append([]string{"run", "timed.toml", "--out", c.name + "-run", "--no-figures"}, set...)...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := readRuns(t, filepath.Join(dir, c.name+"-run"))
		for again := range 3 {
			out := fmt.Sprintf("%s-%d", c.name, again)
			p := startEngine(t, dir, append([]string{"timed.toml", "--out", out, "--no-figures"}, set...)...)
			var finished struct {
				Hash string `json:"event_hash"`
			}
			replay(p, of, 8, c.policy)
			p.into(&finished, `{"op":"finish","state":"done"}`)
			if status, stderr := p.wait(); status != 0 || strings.Trim(stderr, "\n") != computingNote(stderr) {
				t.Fatalf("status %d\n%s", status, stderr)
			}
			got := readRuns(t, filepath.Join(dir, out))
			if g, w := got.Runs[0], want.Runs[0]; finished.Hash != results.Hash(w.EventHash).String() ||
				g.EventHash != w.EventHash || g.Events != w.Events {
				t.Errorf("%s: %d events %x, fedsim run has %d events %x", out, g.Events, g.EventHash, w.Events,
					w.EventHash)
			}
			for i, g := range got.Runs[0].Rounds {
				w := want.Runs[0].Rounds[i]
				if g.TimeS != w.TimeS || g.Participants != w.Participants || g.Dropped != w.Dropped ||
					g.Late != w.Late ||
					g.FLOPs != w.FLOPs || g.BytesDown != w.BytesDown || g.BytesUp != w.BytesUp ||
					g.EnergyJ != w.EnergyJ {
					t.Errorf("%s, round %d:\n got %+v\nwant %+v", out, i, g, w)
				}
			}
		}
	}
}

// replay drives the rounds of timing mode.
func replay(p *engineProcess, of map[int]cost, rounds int, policy bool) {
	p.t.Helper()
	var any struct{}
	p.into(&any, `{"op":"hello","v":[1],"driver":"test","method":"fedavg"}`)
	p.into(&any, `{"op":"close","round":0}`)
	id := 0
	for round := 1; round <= rounds; round++ {
		var chosen struct{ Clients []int }
		p.into(&chosen, `{"op":"select","round":%d}`, round)
		var messages []string
		for _, t := range chosen.Clients {
			id++
			messages = append(messages,
				fmt.Sprintf(`{"id":%d,"client":%d,"down_bytes":%.0f,"flops":%v,"up_bytes":%.0f}`, id, t, of[t].down,
					of[t].flops, of[t].up))
		}
		var got struct {
			Events []struct{ ID int64 }
			End    string
		}
		p.into(&got, `{"op":"exchange","round":%d,"kind":"train","policy":%v,"msgs":[%s]}`, round, policy,
			strings.Join(messages, ","))
		if want := map[bool]string{false: "all", true: "round"}[policy]; got.End != want {
			p.t.Fatalf("round %d ends with %s", round, got.End)
		}
		taken := ""
		if !policy {
			var ids []string
			for _, e := range got.Events {
				ids = append(ids, fmt.Sprint(e.ID))
			}
			taken = fmt.Sprintf(`,"taken":[%s]`, strings.Join(ids, ","))
		}
		p.into(&any, `{"op":"close","round":%d%s}`, round, taken)
	}
}

// session is a run with everything that a checkpoint must hold: late declarations, work
// that is decided late, a cancellation, expiry, policies, and refused ops.
var session = []string{
	`{"op":"hello","v":[1],"driver":"test 1","method":"own","seed":4,"metrics":[{"split":"test","name":"accuracy",` +
		`"better":"higher","unit":""}],"notes":{"a":"b"}}`,
	`{"op":"close","round":0,"metrics":[{"split":"test","name":"accuracy","value":0.5}]}`,
	`{"op":"send","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1000,"flops":null,` +
		`"up_bytes":null},{"id":2,"client":1,"down_bytes":1000,"flops":1e6,"up_bytes":1000},{"id":3,"client":2,` +
		`"down_bytes":1000,"flops":1e9,"up_bytes":1000,"expires_ns":100000000}]}`,
	`{"op":"wait","ids":[1]}`,
	`{"op":"work","id":1,"flops":1e6,"up_bytes":10}`,
	`{"op":"wait","ids":[99]}`,
	`{"op":"wait","until_ns":500000000}`,
	`{"op":"close","round":1,"taken":[1,2],"metrics":[{"split":"test","name":"accuracy","value":0.75}],` +
		`"clients":[{"split":"train","name":"loss","better":"lower","clients":[0,1],"values":[0.9,0.8]}]}`,
	`{"op":"available"}`,
	`{"op":"send","round":2,"kind":"evaluate","msgs":[{"id":4,"client":3,"down_bytes":1000,"flops":1e6,` +
		`"up_bytes":1000}]}`,
	`{"op":"cancel","ids":[4]}`,
	`{"op":"advance","until_ns":600000000}`,
	`{"op":"exchange","round":2,"kind":"train","policy":true,"msgs":[{"id":5,"client":0,"down_bytes":1000,` +
		`"flops":2e6,"up_bytes":1000},{"id":6,"client":4,"down_bytes":1000,"flops":2e6,"up_bytes":1000}]}`,
	`{"op":"close","round":2,"metrics":[{"split":"test","name":"accuracy","value":0.875},{"split":"train",` +
		`"name":"loss","value":0.5}]}`,
	`{"op":"finish","state":"done","model_sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`,
}

// A run whose engine is killed after any line is resumed by a driver that sends the same
// lines again, and has the directory of an uninterrupted run.
func TestKilledEnginesResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "timed.toml"), timed)
	start := func(out string) *engineProcess {
		return startEngine(t, dir, "timed.toml", "--resume", out, "--no-figures", "--checkpoint=1e-9", "--set",
			"network.jitter=0.3")
	}
	var want map[string]string
	for killed := range session {
		if testing.Short() && killed%3 != 0 {
			continue
		}
		out := fmt.Sprint(killed)
		if killed > 0 {
			p := start(out)
			for _, line := range session[:killed] {
				p.ask("%s", line)
			}
			expect.NoError(t, p.cmd.Process.Kill())
			_ = p.cmd.Wait()
		}
		p := start(out)
		for i, line := range session {
			answer := p.ask("%s", line)
			// a checkpoint of the op hello says nothing
			if resumes := strings.Contains(answer, `"resume":{`); i == 0 && resumes != (killed > 1) {
				t.Errorf("killed after %d lines: hello answers %s", killed, answer)
			}
			failed := strings.HasPrefix(answer, `{"error":`)
			expect.Must(t, failed == strings.Contains(line, "99"), "%s: %s", line, answer)
		}
		status, stderr := p.wait()
		expect.Must(t, status == 0, "status %d\n%s", status, stderr)
		got := lasting(t, filepath.Join(dir, out))
		if killed == 0 {
			want = got
			continue
		}
		diff := cmp.Diff(want, got)
		expect.Must(t, diff == "", "killed after %d lines, the run differs: %s", killed, diff)
	}
	for _, name := range []string{"/metrics.parquet", "/client_values.parquet", "/devices.parquet"} {
		expect.That(t, want[name] != "", "no %s", name)
	}
}

// A driver that resumes must send the same lines. The checkpoint stays.
func TestEngineNoticesOtherLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "timed.toml"), timed)
	p := startEngine(t, dir, "timed.toml", "--resume", "out")
	for _, line := range session[:8] {
		p.ask("%s", line)
	}
	if status, stderr := p.wait(); status != 75 ||
		!strings.HasSuffix(stderr,
			": interrupted after round 1; results so far: out; resume by starting the driver with --resume out\n") {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	p = startEngine(t, dir, "timed.toml", "--resume", "out")
	p.ask("%s", session[0])
	answer := p.ask(`{"op":"close","round":0}`)
	want := `{"error":{"code":"diverged","message":"close: line 2 differs from that of the run to resume: ` +
		`a resumed driver must send the same lines again, or start over with --force","field":null,"fatal":true}}` +
		"\n"
	expect.That(t, answer == want, "got %swant %s", answer, want)
	if status, stderr := p.wait(); status != 1 || !strings.Contains(stderr, "the checkpoint is saved") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	p = startEngine(t, dir, "timed.toml", "--resume", "out", "--no-figures")
	for i, line := range session {
		answer := p.ask("%s", line)
		expect.That(t, i != 0 || strings.Contains(answer, `"resume":{"lines":8,`), "%v", answer)
	}
	if status, stderr := p.wait(); status != 0 || strings.Trim(stderr, "\n") != computingNote(stderr) {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// A driver that ends, is killed or fails leaves no engine behind, and a run that can be
// resumed.
func TestEngineOutlivesNoDriver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		end    func(*engineProcess)
		status int
		stderr string
	}{
		{"end", func(p *engineProcess) {}, 75, "the input ended before "},
		{"half", func(p *engineProcess) { _, _ = io.WriteString(p.to, `{"op":"nod`) }, 75,
			"the input ended within a line: interrupted after round 1; "},
		{"signal", func(p *engineProcess) {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			_, _ = p.from.ReadByte() // it ends while its input is open
		}, 75, "interrupted by a signal: interrupted after round 1; "},
		{"deaf", func(p *engineProcess) {
			_ = p.stdout.Close()
			_, _ = io.WriteString(p.to, `{"op":"available"}`+"\n"+`{"op":"available"}`+"\n")
			_ = p.cmd.Wait()
		}, 75, "the output cannot be written ("},
		{"failed", func(p *engineProcess) { p.ask(`{"op":"finish","state":"failed"}`) }, 1,
			"the driver has failed; the checkpoint is saved: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			filetest.Write(t, filepath.Join(dir, "timed.toml"), timed)
			p := startEngine(t, dir, "timed.toml", "--out", "out", "--no-figures")
			for _, line := range session[:8] {
				p.ask("%s", line)
			}
			c.end(p)
			if status, stderr := p.wait(); status != c.status ||
				!strings.HasPrefix(
					strings.TrimPrefix(stderr, "fedsim: interrupted: stopping; Ctrl-C (SIGINT) ends fedsim at once\n"),
					"fedsim: "+c.stderr) || strings.Count(stderr, "\n") != 1+strings.Count(stderr, "Ctrl-C") {
				t.Errorf("status %d, want %d\n%s", status, c.status, stderr)
			}
			r := readRuns(t, filepath.Join(dir, "out"))
			if run := r.Runs[0]; run.Status != results.Interrupted || len(run.Rounds) != 2 ||
				r.Manifest.State != rundir.Incomplete {
				t.Errorf("%s with %d rounds in a directory that is %s", run.Status, len(run.Rounds), r.Manifest.State)
			}
			p = startEngine(t, dir, "timed.toml", "--resume", "out", "--no-figures")
			for _, line := range session {
				p.ask("%s", line)
			}
			if status, stderr := p.wait(); status != 0 {
				t.Errorf("resumed: status %d\n%s", status, stderr)
			}
			if r, err := rundir.Read(filepath.Join(dir, "out")); err != nil || r.Manifest.State != rundir.Complete ||
				len(r.Runs[0].Rounds) != 3 {
				t.Errorf("%v, %+v", err, r)
			}
		})
	}
}

// A driver that fails before the end of round 1 leaves nothing, so that it can start again.
// It does not lose what an earlier one has saved.
func TestEngineSavesNothingBeforeRound1(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "timed.toml"), timed)
	fails := func(p *engineProcess) {
		answer := p.ask(`{"op":"finish","state":"failed"}`)
		expect.That(t, strings.Contains(answer, `"directory":null,`), "%v", answer)
	}
	out := filepath.Join(dir, "new", "out")
	for lines := 1; lines < 8; lines += 2 {
		for stderr, end := range map[string]func(*engineProcess){
			"fedsim: the input ended before the op finish: interrupted before the end of the first round; " +
				"nothing is saved\n": func(*engineProcess) {},
			"fedsim: the driver has failed\n": fails,
		} {
			p := startEngine(t, dir, "timed.toml", "--out", out, "--checkpoint=1e-9")
			for _, line := range session[:lines] {
				p.ask("%s", line)
			}
			end(p)
			_, told := p.wait()
			expect.That(t, told == stderr, "after %d lines: %s", lines, told)
			_, err := os.Stat(filepath.Dir(out))
			expect.Must(t, errors.Is(err, fs.ErrNotExist), "after %d lines: %v", lines, err)
		}
	}
	for _, lines := range []int{8, 3} { // the second is resumed, and ends before the first did
		p := startEngine(t, dir, "timed.toml", "--resume", out, "--no-figures")
		for _, line := range session[:lines] {
			p.ask("%s", line)
		}
		p.wait()
	}
	p := startEngine(t, dir, "timed.toml", "--resume", out, "--no-figures")
	if answer := p.ask("%s", session[0]); !strings.Contains(answer, `"resume":{"lines":`) {
		t.Error(answer)
	}
}

// The first response has the errors of the scenario, the directory and the version. The
// exit status is that of fedsim run.
func TestEngineRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"timed.toml": timed, "wrong.toml": "[data]\nsorce = \"x\"\n",
		"swept.toml": timed + "[sweep]\n\"network.profile\" = [\"lte\", \"3g\"]\n",
		"seeds.toml": strings.Replace(timed, "rounds = 8", "seeds = [1, 2]", 1),
		"two.toml":   timed + "[[experiment]]\nname = \"a\"\n[[experiment]]\nname = \"b\"\n",
		"file":       "",
	} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	const good = `{"op":"hello","v":[1],"driver":"d","method":"m"}`
	for _, c := range []struct{ args, hello, code, message, stderr string }{
		{"wrong.toml", good, "scenario", "hello: wrong.toml:2:1: unknown key data.sorce: did you mean source?",
			"wrong.toml:2:1: unknown key data.sorce: did you mean source?"},
		{"none.toml", good, "scenario", "hello: none.toml: no such file; ", "none.toml: no such file; "},
		{"swept.toml", good, "scenario", "hello: swept.toml: has 2 points on axis network.profile",
			"swept.toml: has 2 points"},
		{"seeds.toml", good, "scenario", "hello: seeds.toml:13:9: has 2 seeds", "seeds.toml:13:9: has 2 seeds"},
		{"two.toml", good, "scenario", "hello: two.toml:16:1: has 2 experiments: a driven scenario must have one: " +
			"remove the others from a copy of the file", "two.toml:16:1: has 2 experiments"},
		{"timed.toml", `{"op":"hello","v":[1],"driver":"d","method":"a b"}`, "scenario",
			`hello: timed.toml: methods."a b": a method's label must consist of`, `timed.toml: methods."a b"`},
		{"timed.toml", `{"op":"hello","v":[2],"driver":"d","method":"m"}`, "version",
			"hello: v: must hold 1, the version of the protocol of fedsim (devel)", "fedsim: hello: v: must hold 1, "},
		{"timed.toml --out file", good, "directory", "hello: file: is not a run directory but a file",
			"fedsim: hello: file: is not a run directory"},
	} {
		p := startEngine(t, dir, strings.Fields(c.args)...)
		var answer struct {
			Error struct {
				Code, Message string
				Fatal         bool
			}
		}
		expect.NoError(t, json.Unmarshal([]byte(p.ask("%s", c.hello)), &answer))
		if e := answer.Error; e.Code != c.code || !strings.HasPrefix(e.Message, c.message) || !e.Fatal {
			t.Errorf("%s:\n got %+v\nwant %s %s", c.args, e, c.code, c.message)
		}
		if status, stderr := p.wait(); status != 2 || !strings.HasPrefix(stderr, c.stderr) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d\n%s", c.args, status, stderr)
		}
	}
	p := startEngine(t, dir, "seeds.toml", "--out", "seeded", "--no-figures")
	p.ask(`{"op":"hello","v":[1],"driver":"d","method":"m","seed":2}`)
	p.ask(`{"op":"finish","state":"done"}`)
	if status, stderr := p.wait(); status != 0 {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// A policy that can never end its round is a stalled run.
func TestEngineStalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "timed.toml"), timed)
	p := startEngine(t, dir, "timed.toml", "--out", "out", "--no-figures", "--set", "devices.battery.wh=1e-5", "--set",
		"devices.charging.when=never")
	p.ask(`{"op":"hello","v":[1],"driver":"d","method":"m"}`)
	answer := p.ask(`{"op":"exchange","round":1,"kind":"train","policy":true,"msgs":[{"id":1,"client":0,` +
		`"down_bytes":1000,"flops":1e12,"up_bytes":1000}]}`)
	want := `{"error":{"code":"stalled","message":"exchange: device 0 has an empty battery`
	expect.That(t, strings.HasPrefix(answer, want), "got %swant %s", answer, want)
	p.ask(`{"op":"finish","state":"done"}`)
	if status, stderr := p.wait(); status != 3 ||
		!strings.HasPrefix(stderr, "fedsim: run timed/m/seed=1 stalled after round ") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// computingNote returns the note that computing is a small share of the time, which short sessions have; it is empty
// without one.
func computingNote(stderr string) string {
	text := strings.Trim(stderr, "\n")
	if strings.HasPrefix(text, "fedsim: note: computing is ") && !strings.Contains(text, "\n") {
		return text
	}
	return ""
}
