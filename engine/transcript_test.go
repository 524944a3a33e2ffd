package engine

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "rewrite the transcripts with the output of the engine")

// TestTranscript runs the commands in testdata/order.txt with every queue. A block is
// commands, "----", and their output. Blocks share one engine of three devices and are
// separated by empty lines. # starts a comment.
//
//	schedule NAME AT KIND DEVICE
//	cancel NAME | reschedule NAME AT
//	on NAME COMMAND   run the command when the event fires in this block
//	step | run | until AT | stop
//	state             print the clock and the number of pending events
func TestTranscript(t *testing.T) {
	const file = "testdata/order.txt"
	text := filetest.Read(t, file)
	for _, queue := range Queues() {
		c := &conversation{t: t, handles: map[string]Handle{}, names: map[Handle]string{}, on: map[string][]string{}}
		c.engine = New(3, Options{Queue: queue, Hooks: &Hooks{Fired: c.fired}})
		var got []string
		for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			commands, _, ok := strings.Cut(block+"\n", "----\n")
			expect.Must(t, ok, "%s: a block without ----:\n%s", file, block)
			c.out.Reset()
			clear(c.on)
			for _, line := range strings.Split(strings.TrimSpace(commands), "\n") {
				c.do(line)
			}
			got = append(got, strings.TrimRight(commands+"----\n"+c.out.String(), "\n"))
		}
		transcript := strings.Join(got, "\n\n") + "\n"
		if *update {
			filetest.Write(t, file, transcript)
			continue
		}
		d := cmp.Diff(string(text), transcript)
		expect.That(t, d == "", "%s with queue %s (run with -update to accept):\n%s", file, queue, d)
	}
}

type conversation struct {
	t       *testing.T
	engine  *Engine
	handles map[string]Handle
	names   map[Handle]string
	on      map[string][]string
	out     strings.Builder
}

func (c *conversation) fired(ev Event) {
	fmt.Fprintf(&c.out, "%s: %s\n", c.names[handleOf(ev)], describe(ev))
}

func (c *conversation) handle(ev Event) {
	for _, line := range c.on[c.names[handleOf(ev)]] {
		c.do(line)
	}
}

func (c *conversation) keep(name string, h Handle) {
	c.handles[name], c.names[h] = h, name
}

func (c *conversation) do(line string) {
	line, _, _ = strings.Cut(line, "#")
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	var name string
	var at Time
	scan := func(format string, args ...any) {
		if _, err := fmt.Sscanf(rest, format, args...); err != nil {
			c.t.Fatalf("%q: %v", line, err)
		}
	}
	switch verb {
	case "":
	case "schedule":
		var kind Kind
		var device int
		scan("%s %d %d %d", &name, &at, &kind, &device)
		c.keep(name, c.engine.Schedule(at, kind, device))
	case "cancel":
		scan("%s", &name)
		if !c.engine.Cancel(c.handles[name]) {
			fmt.Fprintf(&c.out, "%s is not pending\n", name)
		}
	case "reschedule":
		scan("%s %d", &name, &at)
		if h, ok := reschedule(c.engine, c.handles[name], at); ok {
			c.keep(name, h)
		} else {
			fmt.Fprintf(&c.out, "%s is not pending\n", name)
		}
	case "on":
		event, command, _ := strings.Cut(rest, " ")
		c.on[event] = append(c.on[event], command)
	case "step":
		if !c.engine.Step(c.handle) {
			fmt.Fprintln(&c.out, "nothing to fire")
		}
	case "run":
		c.engine.Run(c.handle)
	case "until":
		scan("%d", &at)
		c.engine.RunUntil(at, c.handle)
	case "stop":
		c.engine.Stop()
	case "state":
		fmt.Fprintf(&c.out, "now %d, %d pending\n", c.engine.Now(), c.engine.Pending())
	default:
		c.t.Fatalf("%q: no such command", line)
	}
}
