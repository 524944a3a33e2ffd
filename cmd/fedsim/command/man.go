package command

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manEnd is the end of the page fedsim(1).
const manEnd = `

# EXIT STATUS
**0** success, **1** failure, **2** an error in the command line or in a scenario,
**3** a run stalled: no device could act again (the results are complete),
**75** a run was interrupted; finished results are saved.

# ENVIRONMENT
**FEDSIM_DATA** the folder to search for data files that are neither in the folder of
the scenario nor in the working directory.

**GOGC** the garbage collection target of the Go runtime. If it is set, fedsim does
not adapt the target to the size of the heap.
`

func newMan() *cobra.Command {
	return takesOne(&cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write the manual pages of all commands (fedsim.1, fedsim-run.1, ...) to a directory.
The directory is created if needed. SOURCE_DATE_EPOCH sets the date of the pages.`,
		Example: `  fedsim man ~/.local/share/man/man1
  fedsim man man && man man/fedsim-run.1`,
	}, "one directory", completeDirectory, func(_ *cobra.Command, dir string) error {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		root := newRoot(nil)
		reveal(root)
		asMarkdown(root)
		root.Long += manEnd
		header := &doc.GenManHeader{Section: "1", Source: "fedsim " + readVersion().module, Manual: "fedsim"}
		if err := doc.GenManTree(root, header, dir); err != nil {
			return fmt.Errorf("write the manual: %w", err)
		}
		return nil
	})
}

// asMarkdown converts the help texts of a command and its subcommands to Markdown, the
// input of the manual writer: it escapes markup and preserves indented blocks.
func asMarkdown(cmd *cobra.Command) {
	escape := strings.NewReplacer("<", `\<`, ">", `\>`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`)
	cmd.DisableAutoGenTag = true
	cmd.Use, _, _ = strings.Cut(cmd.Use, "\n")
	cmd.Short = escape.Replace(cmd.Short)
	var long strings.Builder
	for line := range strings.Lines(cmd.Long) {
		if strings.HasPrefix(line, "  ") {
			long.WriteString("  " + line) // a block of code
			continue
		}
		long.WriteString(escape.Replace(line))
	}
	cmd.Long = long.String()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, text := valueName(f)
		f.Usage = escape.Replace(text)
	})
	for _, c := range cmd.Commands() {
		asMarkdown(c)
	}
}
