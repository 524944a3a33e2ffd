package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
)

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

// flagValues describes the values of a flag, by type.
var flagValues = map[string]string{
	"bool": "true or false", "int": "a whole number", "uint64": "a whole number that is not negative",
	"float64": "a number", "float64Slice": "numbers separated by commas",
}

// flagError describes an invalid flag of a command line and suggests a similar one, or the
// --set of a scenario key.
func flagError(cmd *cobra.Command, args []string, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want, ok := flagValues[invalid.GetFlag().Value.Type()]; ok {
			return usagef("--%s=%s: must be %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	if err := retiredError(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") + " --" + name); err != nil {
		return err
	}
	text := fmt.Sprintf("unknown flag --%s", name)
	near := config.Nearest(name, names)
	set := settingFor(cmd, name, valueOf(args, name), near == "")
	switch {
	case near != "" && set != "":
		text += fmt.Sprintf(": did you mean --%s, or %s?", near, set)
	case near != "":
		text += fmt.Sprintf(": did you mean --%s?", near)
	case set != "":
		text += ": use " + set
	}
	return usagef("%s; see %s --help", text, cmd.CommandPath())
}

// valueOf returns the value of a flag in the arguments, for a shell.
func valueOf(args []string, name string) string {
	for i, arg := range args {
		value, given := strings.CutPrefix(arg, "--"+name+"=")
		if arg == "--"+name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value, given = args[i+1], true
		}
		if given && !strings.ContainsFunc(value, func(r rune) bool {
			return !strings.ContainsRune("+-.,_/", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			return value
		}
		if given {
			return "'" + quote.Cut(strings.ReplaceAll(value, "'", `'\''`)) + "'"
		}
	}
	return "..."
}

// mostSettings limits the keys in place of an unknown flag.
const mostSettings = 3

// settingFor returns the --set with the scenario key that an unknown flag names, or "". Without
// another flag near the name, it may be misspelt.
func settingFor(cmd *cobra.Command, name, value string, near bool) string {
	if cmd.Flags().Lookup("set") == nil {
		return ""
	}
	name = strings.ReplaceAll(name, "-", "_")
	var keys, last []string
	for _, f := range scenario.Keys(nil) {
		path, err := config.ParsePath(f.Key)
		if err != nil {
			continue
		}
		key := f.Key
		if path[0] == "methods" {
			key = "methods.METHOD." + strings.Join(path[2:], ".")
		}
		if !slices.Contains(keys, key) {
			keys, last = append(keys, key), append(last, path[len(path)-1])
		}
	}
	if near && !slices.Contains(last, name) && !slices.Contains(keys, name) {
		name = config.Nearest(name, last)
	}
	var found []string
	least := 0 // the depth of those found; a table within a table is seldom meant
	for i, key := range keys {
		depth := strings.Count(key, ".")
		if name == "" || key != name && last[i] != name || len(found) > 0 && depth > least {
			continue
		}
		if len(found) > 0 && depth < least {
			found = nil
		}
		found, least = append(found, "--set "+key+"="+value), depth
	}
	if len(found) > mostSettings {
		return "" // such as name
	}
	return strings.Join(found, " or ")
}

// asGroup makes cmd a command that only has subcommands. Alone it prints its help.
func asGroup(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subcommands...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := config.UnknownName("command", args[0], args[0], children(cmd))
		if elsewhere := below(cmd, args[0]); len(elsewhere) > 0 {
			text = fmt.Sprintf("unknown command %s: did you mean %s?", args[0], strings.Join(elsewhere, " or "))
		}
		return usagef("%s; see %s --help", text, cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// below returns the subcommands with a name in the groups below cmd, as "group name".
func below(cmd *cobra.Command, name string) []string {
	var found []string
	for _, group := range cmd.Commands() {
		if child(group, name) != nil {
			found = append(found, group.Name()+" "+name)
		}
	}
	return found
}

// textWidth returns the line width for standard output: that of the terminal, within
// limits, or [columns.Width].
func textWidth() int {
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		return min(max(width, 60), 240)
	}
	return columns.Width
}

// takes requires between least and most arguments, which what describes.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s needs %s; see %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		case len(args) > most:
			return usagef("%s takes %s: unexpected argument %q; see %s --help", cmd.CommandPath(), what, args[most],
				cmd.CommandPath())
		default:
			return nil
		}
	}
}
