package command

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/atomicfile"
	"fedsim/results/rundir"
)

func newReport() *cobra.Command {
	var out string
	var show bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Write an HTML report of a run",
		Long: `Write an HTML report of a run. It shows the settings, the times to each target,
curves to zoom into, heat maps of sweeps, stragglers, the energy by use, the
resolved scenario and how to reproduce the run. The report is one file and needs
no network. While a run is in progress, the report shows its finished rounds;
"fedsim serve" shows a live report.`,
		Example: `  fedsim report runs/quickstart
  fedsim report runs/quickstart --open
  fedsim report runs/quickstart -o quickstart.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("fedsim report takes one run directory, not %d: fedsim compare shows how several differ; see fedsim compare --help", len(args))
			}
			return takes(1, 1, "one run directory")(cmd, args)
		},
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			if extension := filepath.Ext(out); out != "" && extension != ".html" && extension != ".htm" {
				return usagef("--out=%s: must end in .html or .htm", out) // never overwrite another kind of file
			}
			if plan.Is(args[0]) {
				return usagef("%s: a plan has no report before it is merged: use fedsim merge, with --partial before all is done, or fedsim serve", args[0])
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
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (default DIR/report.html)")
	cmd.Flags().BoolVar(&show, "open", false, "open the report in the browser")
	return cmd
}

// openers are the programs that open a file with its default application, by
// operating system.
var openers = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"},
}

// openPage opens a file in the browser without waiting for the browser.
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
		return fmt.Errorf("--open: cannot start a browser: %w: open %s yourself", err, file)
	}
	return command.Process.Release()
}
