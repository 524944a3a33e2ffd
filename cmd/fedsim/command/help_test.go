package command

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

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
		expect.That(t, cmd.Short != "" && cmd.Example != "", "%s has no description or no example", cmd.CommandPath())
		own := 0
		for line := range strings.Lines(cmd.Example) {
			expect.That(t, strings.HasPrefix(line, "  "),
				"%s: the example %q is not indented by two", cmd.CommandPath(), line)
			for _, words := range calls(line) {
				if checkCall(t, cmd, words) {
					own++
				}
			}
		}
		expect.That(t, own != 0, "%s has no example", cmd.CommandPath())
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
			rest, _, _ = strings.Cut(rest, "   ") // the description follows
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

// docs/reference/commands.md has the table and the help of all commands.
func TestCommandsPageIsUpToDate(t *testing.T) {
	generatedBlocks(t, "docs/reference/commands.md", "CommandsPage", map[string]string{"commands": commandsText()})
}

// commandsText lists the commands by group, and then the help of each with all flags.
func commandsText() string {
	var tables, helps strings.Builder
	of := newRoot(nil)
	reveal(of)
	for _, g := range groups {
		fmt.Fprintf(&tables, "\n| %s | |\n|---|---|\n", g.title)
		for _, c := range of.Commands() {
			if c.GroupID != g.title {
				continue
			}
			fmt.Fprintf(&tables, "| [`fedsim %s`](#fedsim-%[1]s) | %s |\n", c.Name(), c.Short)
			fmt.Fprintf(&helps, "\n## fedsim %s\n", c.Name())
			for _, cmd := range all(c) {
				cmd.InitDefaultHelpFlag()
				fmt.Fprintf(&helps, "\n```text\n%s\n\n%s```\n",
					strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), usage(cmd))
			}
		}
	}
	return tables.String() + helps.String() + "\n"
}

// Every command is in a group of the help, but for those that programs and shells call; and every entry of a group
// is a command.
func TestEveryCommandIsInAGroup(t *testing.T) {
	root := newRoot(nil)
	var hidden []string
	for _, c := range root.Commands() {
		if c.GroupID == others {
			hidden = append(hidden, c.Name())
		}
	}
	slices.Sort(hidden)
	expect.That(t, slices.Equal(hidden, []string{"completion", "engine", "help", "man", "version"}), "%v", hidden)
	for _, g := range groups {
		for _, name := range g.commands {
			expect.That(t, child(root, name) != nil, "the group %s has %s, and there is no such command", g.title, name)
		}
	}
	for _, c := range all(root)[1:] {
		expect.That(t, len(c.Short) <= 66, "%s: %q has %d characters", c.CommandPath(), c.Short, len(c.Short))
	}
}

// A retired command or flag names its replacement, which exists.
func TestRetiredCommands(t *testing.T) {
	quoted := regexp.MustCompile(`"fedsim ([^"]*)"`)
	for _, r := range retired {
		args := strings.Fields(r.old)
		if r.old == "plan SCENARIO" {
			args = []string{"plan", "quickstart", "-o", "d"}
		}
		var out, errs strings.Builder
		want := "fedsim " + r.old + ": is now " + r.now + "\n"
		status := Main(append(args, "x", "--set", "a=b"), &out, &errs)
		if status != exitUsage || errs.String() != want {
			t.Errorf("fedsim %s exits with %d: %s, want %s", r.old, status, errs.String(), want)
		}
		for _, m := range quoted.FindAllStringSubmatch(r.now, -1) {
			words := strings.Fields(m[1])
			found, rest, err := newRoot(nil).Find(words)
			if err == nil {
				err = found.ParseFlags(rest)
			}
			expect.That(t, err == nil && (found.HasParent() || len(rest) > 0) && found.Runnable(),
				"fedsim %s: %v", m[1], err)
		}
	}
}

func TestHelpOf(t *testing.T) {
	var out, errors strings.Builder
	if status := Main([]string{"help", "scenarios", "show"}, &out, &errors); status != 0 ||
		!strings.Contains(out.String(), "fedsim scenarios show quickstart > mine.toml") {
		t.Errorf("status %d: %s%s", status, out.String(), errors.String())
	}
	if status := Main([]string{"help", "scenarios", "shwo"}, &out, &errors); status != 2 ||
		errors.String() != "fedsim: unknown command shwo: did you mean show?; see fedsim scenarios --help\n" {
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
		expect.That(t, err == nil, "%v", err)
		return string(text)
	}
	for _, cmd := range all(newRoot(nil)) {
		if cmd.Name() == "help" {
			continue // the library makes no page of it
		}
		text := page(strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1")
		for _, section := range []string{".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLE"} {
			expect.That(t, strings.Contains(text, section), "the page of %s has no %s", cmd.CommandPath(), section)
		}
	}
	for name, want := range map[string]string{
		"fedsim.1":                  "\\fB75\\fP a run was interrupted",
		"fedsim-run.1":              "runs/NAME",
		"fedsim-plan-make.1":        "--group-time",
		"fedsim-scenarios-schema.1": "#:schema fedsim.schema.json",
	} {
		text := page(name)
		expect.That(t, strings.Contains(text, want), "%s does not have %q:\n%s", name, want, text)
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
