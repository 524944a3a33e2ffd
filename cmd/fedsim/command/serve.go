package command

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/rooms/report/serve"
	"fedsim/internal/tools/plainjson"
	"fedsim/results/rundir"
)

type serveFlags struct {
	address string
	json    bool
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := takesOne(&cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a live report of a run or a plan for a browser",
		Long: `Serve a live report of a run over HTTP and print its address. The report is that of
"fedsim report"; each round appears about a second after its end. The report of a
plan shows the runs so far, and which groups run, wait or have failed.

DIR need not exist yet. Its run can be started, interrupted, resumed and
overwritten while the report is open.

By default only this machine can connect; --addr changes that. There is no
authentication and no encryption. The server serves only the report and its data.
An interrupt (Ctrl-C) stops it.`,
		Example: `  fedsim serve runs/quickstart
  fedsim serve runs/tonight --addr 127.0.0.1:8080
  fedsim serve runs/tonight --addr '[::1]:0' --json`,
	}, "one run directory or plan directory", completeDirectory, f.serve)
	flags := cmd.Flags()
	flags.StringVar(&f.address, "addr", "127.0.0.1:0", "address and port to listen on; port 0: any free port")
	completeFlag(cmd, "addr", cobra.NoFileCompletions)
	flags.BoolVar(&f.json, "json", false, "print the address as JSON (docs/json.md)")
	return cmd
}

// serving is the JSON output (docs/json.md).
type serving struct {
	URL       string `json:"url"`
	Directory string `json:"directory"`
	Loopback  bool   `json:"loopback"`
}

func (f *serveFlags) serve(cmd *cobra.Command, dir string) error {
	if err := checkAddress(f.address); err != nil {
		return err
	}
	from := serve.Directory(dir)
	if plan.Is(dir) {
		d, err := work.Open(dir, readVersion().String())
		if err != nil {
			return err
		}
		from = serve.PlanSource(d.View(time.Now))
	}
	server, err := serve.New(from)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.address)
	if err != nil {
		return err
	}
	if err := f.printAddress(cmd, from, l); err != nil {
		return errors.Join(err, l.Close())
	}
	return server.Serve(cmd.Context(), l)
}

func checkAddress(address string) error {
	const want = "must be an address and a port, as in 127.0.0.1:8080 or [::1]:0"
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("--addr=%s: %s", address, want)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("--addr=%s: %s", address, want)
	}
	return nil
}

func (f *serveFlags) printAddress(cmd *cobra.Command, from serve.Source, l net.Listener) error {
	dir := from.Dir
	about := serving{URL: serve.URL(l), Directory: dir, Loopback: serve.Loopback(l)}
	if !about.Loopback {
		printError(cmd.ErrOrStderr(), fmt.Errorf("warning: --addr=%s: every computer with access to this machine can read %s", f.address, dir))
	}
	if g, err := from.Stat(); err == nil && g.Status == rundir.Absent {
		printError(cmd.ErrOrStderr(), fmt.Errorf("%s: no run here yet; the report waits for it", dir))
	}
	out := cmd.OutOrStdout()
	if f.json {
		return errors.Join(plainjson.Print(out, about), flush(out))
	}
	return errors.Join(printText(out, about.URL+"\n"), flush(out))
}

// flush writes buffered output, for a command whose output is read while it runs.
func flush(out io.Writer) error {
	if b, ok := out.(interface{ Flush() error }); ok {
		return b.Flush()
	}
	return nil
}
