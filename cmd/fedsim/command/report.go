package command

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/atomicfile"
	"fedsim/results/rundir"
)

func init() { ofRooms = append(ofRooms, newReport) }

func newReport([]string) *cobra.Command {
	var out string
	var show bool
	var live liveFlags
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Write a page for a browser; --live follows a run",
		Long: `Write the page of a run: one file that needs no network. While a run is in progress,
the page has its finished rounds.

--live serves the page of a run or a plan over HTTP until Ctrl-C; each round appears
about a second after its end. DIR need not exist yet. Only this machine can connect
unless --addr says otherwise. There is no authentication and no encryption.`,
		Example: `  fedsim report runs/quickstart
  fedsim report runs/quickstart --open
  fedsim report runs/quickstart -o quickstart.html
  fedsim report runs/tonight --live --addr 127.0.0.1:8080`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("fedsim report takes one run directory, not %d: fedsim compare shows how several "+
					"differ; see fedsim compare --help", len(args))
			}
			return takes(1, 1, "one run directory")(cmd, args)
		},
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := live.check(cmd); err != nil {
				return err
			}
			if live.live {
				return live.serve(cmd, args[0])
			}
			return writeReport(cmd, args[0], out, show)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`FILE` file to write (default DIR/report.html)")
	cmd.Flags().BoolVar(&show, "open", false, "open the page in the browser")
	live.add(cmd)
	return cmd
}

// writeReport writes the page of a directory to a file, or into the directory, and opens it.
func writeReport(cmd *cobra.Command, dir, out string, show bool) error {
	if extension := filepath.Ext(out); out != "" && extension != ".html" && extension != ".htm" {
		return usagef("--out=%s: must end in .html or .htm", out) // never overwrite another kind of file
	}
	for _, kind := range directoryKinds {
		if kind.is(dir) {
			return usagef("%s: %s", dir, kind.late)
		}
	}
	found, err := report.Read(dir)
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(dir, rundir.ReportFile)
	}
	err = atomicfile.Write(out, func(w io.Writer) error { return report.Write(w, found) })
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(cmd.OutOrStdout(), out); err != nil || !show {
		return err
	}
	return openPage(out)
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
