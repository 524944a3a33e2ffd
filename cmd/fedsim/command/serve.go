package command

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"fedsim/report/serve"
	"fedsim/results/rundir"
)

// serveFlags are the flags of fedsim serve.
type serveFlags struct {
	address string
	json    bool
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Show the page of a run in a browser while it is made",
		Long: `Show the page of a run in a browser while it is made: what "fedsim report" makes a
file of, with the rounds of the runs under way about a second after they are over.

DIR need not be there yet: its run may be started, interrupted, gone on with and
made anew while the page is open. The address to open is printed. Only this machine
can reach it unless --addr says otherwise; nobody is asked who they are, and there
is no encryption. Nothing but the page and what it shows is served. An interrupt
(Ctrl-C) stops the server.`,
		Example: `  fedsim serve runs/quickstart
  fedsim serve runs/tonight --addr 127.0.0.1:8080
  fedsim serve runs/tonight --addr '[::1]:0' --json`,
		Args:              takes(1, 1, "one run directory"),
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.serve(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "addr", "127.0.0.1:0", "address and port to listen at; port 0: any that is free")
	completeFlag(cmd, "addr", cobra.NoFileCompletions)
	flags.BoolVar(&f.json, "json", false, "print the address as JSON (docs/json.md)")
	return cmd
}

// serving is where a run is served, for scripts: docs/json.md describes it.
type serving struct {
	URL       string `json:"url"`
	Directory string `json:"directory"`
	Loopback  bool   `json:"loopback"`
}

func (f *serveFlags) serve(cmd *cobra.Command, dir string) error {
	if err := checkAddress(f.address); err != nil {
		return err
	}
	server, err := serve.New(dir)
	if err != nil {
		return err
	}
	l, err := serve.Listen(f.address)
	if err != nil {
		return err
	}
	if err := f.tell(cmd, dir, l); err != nil {
		return errors.Join(err, l.Close())
	}
	return server.Serve(cmd.Context(), l)
}

// checkAddress reports an address that cannot be one.
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

// tell prints where the page is before anything is served.
func (f *serveFlags) tell(cmd *cobra.Command, dir string, l net.Listener) error {
	about := serving{URL: serve.URL(l), Directory: dir, Loopback: serve.Loopback(l)}
	if !about.Loopback {
		complain(cmd.ErrOrStderr(), fmt.Errorf("warning: --addr=%s: whoever reaches this machine can read %s", f.address, dir))
	}
	if g, err := rundir.Look(dir); err == nil && g.Phase == rundir.Absent {
		complain(cmd.ErrOrStderr(), fmt.Errorf("%s: there is no run here yet, the page waits for it", dir))
	}
	out := cmd.OutOrStdout()
	err := error(nil)
	if f.json {
		err = writeJSON(out, about)
	} else {
		_, err = fmt.Fprintln(out, about.URL)
	}
	return errors.Join(err, flush(out))
}

// flush writes what waits: a command that goes on is read while it does.
func flush(out io.Writer) error {
	if b, ok := out.(interface{ Flush() error }); ok {
		return b.Flush()
	}
	return nil
}
