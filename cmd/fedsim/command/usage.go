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

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

// wanted says what a flag takes, by the type of its value.
var wanted = map[string]string{
	"bool": "true or false", "int": "a whole number", "uint64": "a whole number that is not negative",
	"float64": "a number", "float64Slice": "numbers with commas between them",
}

// flagError explains a flag that cannot be taken, and which one may have been
// meant.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want, ok := wanted[invalid.GetFlag().Value.Type()]; ok {
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

// asGroup makes cmd a command that only holds others: alone it shows its help.
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

// below returns the commands of a name in the groups below cmd, with that of the group.
func below(cmd *cobra.Command, name string) []string {
	var found []string
	for _, group := range cmd.Commands() {
		if child(group, name) != nil {
			found = append(found, group.Name()+" "+name)
		}
	}
	return found
}

// textWidth is the number of characters of a line on standard output: that of the
// terminal, within what can be read, and otherwise what any terminal has.
func textWidth() int {
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		return min(max(width, 60), 240)
	}
	return columns.Width
}

// takes makes cmd take from least to most arguments, which what describes.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s needs %s; see %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		case len(args) > most:
			return usagef("%s takes %s: %q is too many; see %s --help", cmd.CommandPath(), what, args[most], cmd.CommandPath())
		default:
			return nil
		}
	}
}
