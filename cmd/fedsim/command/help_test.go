package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// all returns a command and its subcommands.
func all(cmd *cobra.Command) []*cobra.Command {
	found := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		found = append(found, all(c)...)
	}
	return found
}

// Every command has a description and valid examples: the commands and flags exist, and
// the number of arguments is right.
func TestEveryCommandHasExamples(t *testing.T) {
	for _, cmd := range all(newRoot(nil)) {
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s has no description or no example", cmd.CommandPath())
		}
		own := 0
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented by two", cmd.CommandPath(), line)
			}
			for _, words := range calls(line) {
				if checkCall(t, cmd, words) {
					own++
				}
			}
		}
		if own == 0 {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	}
}

// calls returns the arguments of every call of fedsim in a line of shell, for the syntax
// that examples use.
func calls(line string) [][]string {
	var found [][]string
	for part := range strings.SplitSeq(strings.NewReplacer("&&", "|", "<(", "|", ")", "|").Replace(line), "|") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(part), "fedsim "); ok {
			rest, _, _ = strings.Cut(rest, " > ")
			rest, _, _ = strings.Cut(rest, " >> ")
			rest, _, _ = strings.Cut(rest, " < ")
			found = append(found, fields(rest))
		}
	}
	return found
}

// fields splits a command into its words; single quotes hold a word together.
func fields(command string) []string {
	var words []string
	word, quoted, begun := "", false, false
	for _, r := range command {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				words = append(words, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(r), true
		}
	}
	if begun {
		words = append(words, word)
	}
	return words
}

// checkCall checks an example of cmd. It reports whether the example calls cmd or one of
// its subcommands.
func checkCall(t *testing.T, cmd *cobra.Command, words []string) bool {
	t.Helper()
	found, rest, err := newRoot(nil).Find(words)
	if err != nil {
		t.Errorf("%s: example %q: %v", cmd.CommandPath(), words, err)
		return false
	}
	if err := found.ParseFlags(rest); err != nil {
		t.Errorf("%s: example %q: %v", cmd.CommandPath(), words, err)
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		t.Errorf("%s: example %q: %v", cmd.CommandPath(), words, err)
	}
	return strings.HasPrefix(found.CommandPath()+" ", cmd.CommandPath()+" ")
}

// The page of commands has every command.
func TestPageHasEveryCommand(t *testing.T) {
	page := read(t, "docs/commands.md")
	for _, name := range children(newRoot(nil)) {
		if name != "help" && !strings.Contains(page, "| `fedsim "+name) {
			t.Errorf("docs/commands.md lacks fedsim %s", name)
		}
	}
}

// Help texts name both ways to vary keys.
func TestHelpNamesSamples(t *testing.T) {
	for _, name := range []string{"run", "init"} {
		if long := child(newRoot(nil), name).Long; !strings.Contains(long, "experiment.sample") || !strings.Contains(long, "sweep") {
			t.Errorf("fedsim %s --help does not name sweeps and experiment.sample:\n%s", name, long)
		}
	}
}

func TestHelpOf(t *testing.T) {
	var out, errors strings.Builder
	if status := Main([]string{"help", "scenarios", "show"}, &out, &errors); status != 0 || !strings.Contains(out.String(), "fedsim scenarios show quickstart > mine.toml") {
		t.Errorf("status %d: %s%s", status, out.String(), errors.String())
	}
	if status := Main([]string{"help", "scenarios", "shwo"}, &out, &errors); status != 2 || errors.String() != "fedsim: unknown command shwo: did you mean show?; see fedsim scenarios --help\n" {
		t.Errorf("status %d: %s", status, errors.String())
	}
}

// The manual has a page for every command, with its examples. Markup characters are
// escaped.
func TestManual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "man1")
	var out, errors strings.Builder
	if status := Main([]string{"man", dir}, &out, &errors); status != 0 || out.Len()+errors.Len() > 0 {
		t.Fatalf("status %d: %s%s", status, out.String(), errors.String())
	}
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	for _, cmd := range all(newRoot(nil)) {
		if cmd.Name() == "help" {
			continue // the library makes no page of it
		}
		text := page(strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1")
		for _, section := range []string{".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLE"} {
			if !strings.Contains(text, section) {
				t.Errorf("the page of %s has no %s", cmd.CommandPath(), section)
			}
		}
	}
	for name, want := range map[string]string{
		"fedsim.1":                  "\\fB75\\fP a run was interrupted",
		"fedsim-run.1":              "runs/<scenario name>",
		"fedsim-tune.1":             "[experiment.tune.<method>]",
		"fedsim-scenarios-schema.1": "#:schema fedsim.schema.json",
	} {
		if text := page(name); !strings.Contains(text, want) {
			t.Errorf("%s does not have %q:\n%s", name, want, text)
		}
	}
}

// The help of a flag without a default has none.
func TestHelpOfFlagsWithoutDefault(t *testing.T) {
	for _, cmd := range all(newRoot(nil)) {
		if help := cmd.UsageString(); strings.Contains(help, "(default )") || strings.Contains(help, "(default [])") {
			t.Errorf("%s --help shows an empty default:\n%s", cmd.CommandPath(), help)
		}
	}
}
