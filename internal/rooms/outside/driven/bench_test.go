package driven

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"fedsim/internal/tools/expect"
)

// BenchmarkEngine is the cost of an attempt for a driver that writes to one pipe and reads
// from another: a message to each of so many devices on LTE under wait-for-all, an
// exchange in a line, and a close after each thousand.
func BenchmarkEngine(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			p := place{every: time.Minute,
				scenario: fmt.Sprintf("[data]\nsource = \"synthetic\"\n[data.synthetic]\nclients = %d\n[network]\n"+
					"profile = \"lte\"\n[run]\nmode = \"timing\"\n", n)}
			d := startPipes(b, &p)
			d.ask(hello)
			var line []byte
			round, sent, id := 1, 0, int64(1)
			b.ResetTimer()
			for made := 0; made < b.N; made += n {
				line = append(line[:0], `{"op":"exchange","round":`...)
				line = strconv.AppendInt(line, int64(round), 10)
				line = append(line, `,"kind":"train","msgs":[`...)
				for client := range n {
					if client > 0 {
						line = append(line, ',')
					}
					line = strconv.AppendInt(append(line, `{"id":`...), id, 10)
					line = strconv.AppendInt(append(line, `,"client":`...), int64(client), 10)
					line = append(line, `,"down_bytes":4512,"flops":1250000.0,"up_bytes":4512}`...)
					id++
				}
				d.ask(string(append(line, "]}"...)))
				if sent += n; sent >= 1000 {
					d.ask(fmt.Sprintf(`{"op":"close","round":%d}`, round))
					round, sent = round+1, 0
				}
			}
			b.StopTimer()
			d.close()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
		})
	}
}

// driver is the other end of the pipes of a run.
type driver struct {
	t    testing.TB
	to   *os.File
	from *bufio.Reader
	done chan error
}

// startPipes serves a driver over real pipes.
func startPipes(t testing.TB, p *place) *driver {
	t.Helper()
	in, to, err := os.Pipe()
	expect.NoError(t, err)
	from, out, err := os.Pipe()
	expect.NoError(t, err)
	d := &driver{t: t, to: to, from: bufio.NewReaderSize(from, 1<<16), done: make(chan error, 1)}
	t.Cleanup(func() { _, _ = to.Close(), from.Close() })
	go func() {
		err := Serve(t.Context(), in, out, p.options(t))
		_, _ = in.Close(), out.Close()
		d.done <- err
	}()
	return d
}

// ask sends a line and returns the one that comes back.
func (d *driver) ask(line string) string {
	if _, err := d.to.WriteString(line + "\n"); err != nil {
		d.t.Fatal(err)
	}
	answer, err := d.from.ReadString('\n')
	if err != nil {
		d.t.Fatalf("%s: %v", line, err)
	}
	if len(answer) > 9 && answer[:9] == `{"error":` {
		d.t.Fatalf("%s: %s", line, answer)
	}
	return answer
}

// close ends the input and returns the error of the engine.
func (d *driver) close() error {
	if err := d.to.Close(); err != nil {
		d.t.Fatal(err)
	}
	return <-d.done
}
