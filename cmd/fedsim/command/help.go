package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fedsim/config"
	"fedsim/internal/tools/columns"
)

// groups are the commands in the order of the help. Others are hidden.
var groups = []struct {
	title    string
	commands []string
}{
	{"Run", []string{"run", "init", "check"}},
	{"Read", []string{"show", "report", "compare", "explain", "plot", "export", "verify"}},
	{"Look up", []string{"scenarios", "methods", "data", "fleet", "trace"}},
	{"Study and scale", []string{"settle", "theory", "calibrate", "whatif", "plan"}},
	{others, nil},
}

// others is the title of hidden commands.
const others = "For programs and shells"

// addGroups adds commands to the root in the order of their groups.
func addGroups(root *cobra.Command, commands []*cobra.Command) {
	cobra.EnableCommandSorting = false
	for i, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range g.commands {
			for _, c := range commands {
				if c.Name() == name {
					c.GroupID = g.title
					root.AddCommand(c)
				}
			}
		}
		if i < len(groups)-1 {
			continue
		}
		for _, c := range commands {
			if c.GroupID == "" {
				c.GroupID, c.Hidden = others, true
				root.AddCommand(c)
			}
		}
	}
}

// hide leaves flags out of the help of a command, unless it is for all.
func hide(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// reveal shows everything that is hidden.
func reveal(cmd *cobra.Command) {
	cmd.Hidden = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = false })
	for _, c := range cmd.Commands() {
		reveal(c)
	}
}

// helpForAll reports whether arguments ask for help with everything that is hidden. It returns them
// without --all, which belongs to no command then.
func helpForAll(args []string) (rest []string, all bool) {
	asks := len(args) > 0 && args[0] == "help"
	for i, arg := range args {
		if arg == "--" {
			break
		}
		asks = asks || arg == "-h" || arg == "--help"
		all = all || arg == "--all"
		if arg != "--all" {
			rest = append(rest, args[i])
		}
	}
	if !asks || !all {
		return args, false
	}
	return rest, true
}

// ending is the annotation of a command with the end of its help.
const ending = "ending"

// usage is the help of a command without its description: [columns.Width] wide.
func usage(cmd *cobra.Command) string {
	var b strings.Builder
	title := "Usage: "
	for use := range strings.SplitSeq(cmd.Use, "\n") {
		line := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
		line = strings.TrimSuffix(line, cmd.Name()) + use
		if cmd.HasParent() {
			line = cmd.Root().Name() + " " + line
		}
		if !strings.Contains(cmd.Use, "FLAGS]") && cmd.HasParent() && cmd.LocalFlags().HasAvailableFlags() &&
			!cmd.HasSubCommands() {
			line += " [FLAGS]"
		}
		fmt.Fprintf(&b, "%s%s\n", title, line)
		title = "       "
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n%s\n", cmd.Example)
	}
	commands(&b, cmd)
	if !cmd.HasParent() {
		b.WriteString("\nFlags: -h, --help; --version; --licenses\n" +
			"More:  fedsim COMMAND --help    fedsim help --all    fedsim help codes\n")
		return b.String()
	}
	if text := flagsText(cmd); text != "" {
		b.WriteString("\nFlags:\n" + text)
	}
	if text := cmd.Annotations[ending]; text != "" {
		b.WriteString("\n" + text + "\n")
	}
	return b.String()
}

// commands lists the subcommands of a command by group.
func commands(b *strings.Builder, cmd *cobra.Command) {
	titles := []string{""}
	for _, g := range cmd.Groups() {
		titles = append(titles, g.ID)
	}
	for _, title := range titles {
		var names, texts []string
		for _, c := range cmd.Commands() {
			if c.GroupID == title && !c.Hidden && !strings.HasPrefix(c.Name(), "_") {
				names, texts = append(names, fmt.Sprintf("  %-10s", c.Name())), append(texts, c.Short)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(b, "\n%s\n%s", cmp.Or(title, "Commands"), columns.Entries(names, texts, columns.Width))
		}
	}
}

// flagsText describes the flags of a command. The first word of a usage in backquotes is its value.
func flagsText(cmd *cobra.Command) string {
	var names, texts, hidden []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			hidden = append(hidden, "--"+f.Name)
		}
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "      --" + f.Name
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand + ", --" + f.Name
		}
		value, text := valueName(f)
		if value != "" {
			name += " " + value
		}
		if !slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) && !strings.Contains(text, "(default") {
			text += " (default " + f.DefValue + ")"
		}
		names, texts = append(names, name), append(texts, text)
	})
	if len(names) == 0 && len(hidden) == 0 {
		return ""
	}
	about := "print this help"
	if len(hidden) > 0 {
		about = "--help --all: " + strings.Join(hidden, ", ")
	}
	return columns.Entries(append(names, "  -h, --help"), append(texts, about), columns.Width)
}

// valueName returns the name of the value of a flag, and its usage without it.
func valueName(f *pflag.Flag) (name, text string) {
	if rest, ok := strings.CutPrefix(f.Usage, "`"); ok {
		name, text, _ = strings.Cut(rest, "` ")
		return name, text
	}
	switch f.Value.Type() {
	case "bool":
		return "", f.Usage
	case "string", "stringArray":
		return "TEXT", f.Usage
	default:
		return "N", f.Usage
	}
}

// codes is the help of exit codes.
const codes = `Exit codes:

   0  done
   1  failed
   2  the command line or the scenario is invalid
   3  a run stalled: no device can act again; the results are complete
   4  the seeds that were allowed settled nothing
  75  interrupted; finished results are saved: fedsim run --resume DIR
`

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print help; codes: the exit codes; --all: everything",
		Example: `  fedsim help scenarios show
  fedsim help codes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			if len(args) == 1 && args[0] == "codes" {
				return printText(cmd.OutOrStdout(), codes)
			}
			for _, name := range args {
				next := child(about, name)
				if next == nil {
					return usagef("%s; see %s --help", config.UnknownName("command", name, name, children(about)),
						about.CommandPath())
				}
				about = next
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string,
			word string) ([]cobra.Completion, cobra.ShellCompDirective) {
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
	cmd.Flags().SortFlags = false
	cmd.LocalFlags().SortFlags = false
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
