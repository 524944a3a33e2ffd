package command

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"fedsim/internal/atomicfile"
	"fedsim/report"
	"fedsim/results/rundir"
)

func newReport() *cobra.Command {
	var out string
	var show bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Make a page of a run: tables, curves, stragglers, energy",
		Long: `Make one page of a run for a browser: what was run, the times to target, curves
that can be zoomed and read off, heat maps of sweeps, who held the rounds up, where
the energy went, the resolved scenario and how to reproduce it. The page is one
file that needs no network. A run that goes on has the page of what was made until
now; "fedsim serve" shows it as it goes.`,
		Example: `  fedsim report runs/quickstart
  fedsim report runs/quickstart --open
  fedsim report runs/quickstart -o quickstart.html`,
		Args:              takes(1, 1, "one run directory"),
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			if extension := filepath.Ext(out); out != "" && extension != ".html" && extension != ".htm" {
				return usagef("--out=%s: must end in .html or .htm", out) // it is overwritten
			}
			found, err := report.Read(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = filepath.Join(args[0], rundir.ReportFile)
			}
			err = atomicfile.Write(out, func(w io.Writer) error { return report.Write(w, found) })
			if err != nil {
				return err
			}
			if _, err = fmt.Fprintln(cmd.OutOrStdout(), out); err != nil || !show {
				return err
			}
			return openPage(out)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the file (default DIR/report.html)")
	cmd.Flags().BoolVar(&show, "open", false, "open the page in the browser")
	return cmd
}

// openers are the programs that open a file as the desktop does, by operating system.
var openers = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"},
}

// openPage opens a file in the browser, and does not wait for it to be closed.
func openPage(file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	opener, ok := openers[runtime.GOOS]
	if !ok {
		opener = []string{"xdg-open"} // of freedesktop.org's xdg-utils
	}
	command := exec.Command(opener[0], append(opener[1:], path)...)
	if err := command.Start(); err != nil {
		return fmt.Errorf("--open: no browser could be started: %w: open %s in one", err, file)
	}
	return command.Process.Release()
}
