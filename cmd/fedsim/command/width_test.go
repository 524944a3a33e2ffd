package command

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"fedsim/internal/columns"
)

// requireFit reports every line that is wider than a terminal.
func requireFit(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "        ")); n > columns.Width {
			t.Errorf("%s has a line of %d characters: %s", what, n, line)
		}
	}
}

// The help of every command fits a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		requireFit(t, cmd.CommandPath()+" --help", out.String())
		for _, c := range cmd.Commands() {
			each(c)
		}
	}
	each(newRoot(nil))
}
