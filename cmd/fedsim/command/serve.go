package command

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fedsim/internal/rooms/report/serve"
	"fedsim/internal/tools/plainjson"
	"fedsim/results/rundir"
)

// liveFlags are those of fedsim report --live.
type liveFlags struct {
	live    bool
	address string
	json    bool
}

func (f *liveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.live, "live", false, "serve the page, which follows the run, and print its address")
	flags.StringVar(&f.address, "addr", "127.0.0.1:0", "`ADDR` with --live: address and port; port 0: any free port")
	completeFlag(cmd, "addr", cobra.NoFileCompletions)
	flags.BoolVar(&f.json, "json", false, "with --live: print the address as JSON (docs/reference/json.md)")
}

// check reports flags that do not go together.
func (f *liveFlags) check(cmd *cobra.Command) error {
	only, with := []string{"addr", "json"}, "requires --live"
	if f.live {
		only, with = []string{"out", "open"}, "cannot be combined with --live"
	}
	for _, name := range only {
		if cmd.Flags().Changed(name) {
			return usagef("--%s: %s", name, with)
		}
	}
	return nil
}

// serving is the JSON output (docs/reference/json.md).
type serving struct {
	URL       string `json:"url"`
	Directory string `json:"directory"`
	Loopback  bool   `json:"loopback"`
}

func (f *liveFlags) serve(cmd *cobra.Command, dir string) error {
	if err := checkAddress(f.address); err != nil {
		return err
	}
	from, err := serve.Open(dir, readVersion().String(), time.Now)
	if err != nil {
		return err
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

func (f *liveFlags) printAddress(cmd *cobra.Command, from serve.Source, l net.Listener) error {
	dir := from.Dir
	about := serving{URL: serve.URL(l), Directory: dir, Loopback: serve.Loopback(l)}
	if !about.Loopback {
		printError(cmd.ErrOrStderr(),
			fmt.Errorf("warning: --addr=%s: every computer with access to this machine can read %s", f.address, dir))
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
