package command

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manEnd ends the page of fedsim itself.
const manEnd = `

# EXIT STATUS
**0** all is done, **1** something failed, **2** the command line or a scenario is wrong,
**3** a run stalled, no device being able to act again (the results are complete),
**75** a run was interrupted; what was finished is kept.

# ENVIRONMENT
**FEDSIM_DATA** the folder where data files are looked for that are neither beside the
scenario nor in the working directory.

**GOGC** sets how much garbage may lie in memory, as for every Go program; fedsim then
does not.
`

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write the manual pages of all commands to a directory, which is made if need be:
fedsim.1, fedsim-run.1 and so on. Their date is SOURCE_DATE_EPOCH where it is set.`,
		Example: `  fedsim man ~/.local/share/man/man1
  fedsim man man && man man/fedsim-run.1`,
		Args:              takes(1, 1, "one directory"),
		ValidArgsFunction: first(completeDirectory),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			root := newRoot(nil)
			asMarkdown(root)
			root.Long += manEnd
			header := &doc.GenManHeader{Section: "1", Source: "fedsim " + readVersion().module, Manual: "fedsim"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write the manual: %w", err)
			}
			return nil
		},
	}
}

// asMarkdown makes the texts of a command and those below it what the manual's
// writer takes them for: nothing in them is markup, and blocks that are indented
// stay as they are.
func asMarkdown(cmd *cobra.Command) {
	escape := strings.NewReplacer("<", `\<`, ">", `\>`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`)
	cmd.DisableAutoGenTag = true
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
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = escape.Replace(f.Usage) })
	for _, c := range cmd.Commands() {
		asMarkdown(c)
	}
}
