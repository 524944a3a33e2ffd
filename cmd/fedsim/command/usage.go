package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"fedsim/config"
	"fedsim/internal/columns"
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

// flagError describes an invalid flag and suggests a similar one.
func flagError(cmd *cobra.Command, err error) error {
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
	text := fmt.Sprintf("unknown flag --%s", unknown.GetSpecifiedName())
	if near := config.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		text += fmt.Sprintf(": did you mean --%s?", near)
	}
	return usagef("%s; see %s --help", text, cmd.CommandPath())
}

// asGroup makes cmd a command that only has subcommands. Alone it prints its help.
func asGroup(cmd *cobra.Command) {
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
			return usagef("%s takes %s: unexpected argument %q; see %s --help", cmd.CommandPath(), what, args[most], cmd.CommandPath())
		default:
			return nil
		}
	}
}
