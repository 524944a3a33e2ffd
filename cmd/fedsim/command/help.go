package command

import (
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/internal/tools/columns"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print the help of a command",
		Example: "  fedsim help scenarios show",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			for _, name := range args {
				next := child(about, name)
				if next == nil {
					return usagef("%s; see %s --help", config.UnknownName("command", name, name, children(about)), about.CommandPath())
				}
				about = next
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			about := cmd.Root()
			for _, name := range args {
				if about = child(about, name); about == nil {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
			}
			return oneOf(children(about))(cmd, args, word)
		},
	}
}

// reflow wraps the paragraphs of the descriptions of cmd and its subcommands to
// [columns.Width]. Indented lines are preserved.
func reflow(cmd *cobra.Command) {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, columns.Wrap(strings.Join(paragraph, " "), columns.Width, 0))
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(cmd.Long, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, line)
		} else {
			paragraph = append(paragraph, line)
		}
	}
	flush()
	cmd.Long = strings.Join(out, "\n")
	for _, c := range cmd.Commands() {
		reflow(c)
	}
}

// child returns the subcommand of cmd with a name, or nil.
func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// children returns the names of the subcommands of cmd.
func children(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !strings.HasPrefix(c.Name(), "_") { // hidden: the completion scripts call it
			names = append(names, c.Name())
		}
	}
	return names
}
