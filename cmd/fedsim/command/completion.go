package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// shells are the shells with a completion script.
var shells = []struct {
	name  string
	write func(root *cobra.Command, w io.Writer) error
}{
	{"bash", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

func newCompletion() *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return takesOne(&cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long: `Print a script that lets a shell complete commands, flags, scenario names, and the
keys and values of --set. To install it for every new shell:

  bash        fedsim completion bash > /etc/bash_completion.d/fedsim
  zsh         fedsim completion zsh > "${fpath[1]}/_fedsim"
  fish        fedsim completion fish > ~/.config/fish/completions/fedsim.fish
  powershell  fedsim completion powershell >> $PROFILE

bash requires the package bash-completion.`,
		Example: `  source <(fedsim completion bash)
  fedsim completion fish | source`,
	}, "one shell", oneOf(names), func(cmd *cobra.Command, name string) error {
		for _, s := range shells {
			if s.name == name {
				return s.write(cmd.Root(), cmd.OutOrStdout())
			}
		}
		return usagef("%s", config.UnknownName("shell", name, name, names))
	})
}

// takesOne makes a command run with one argument, which what describes and complete completes.
func takesOne(
	cmd *cobra.Command, what string, complete cobra.CompletionFunc, run func(cmd *cobra.Command, argument string) error,
) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = takes(1, 1, what), first(complete)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, args[0]) }
	return cmd
}

// oneScenario describes the argument of commands that run a scenario.
const oneScenario = "one scenario (a file or the name of a shipped scenario)"

// first completes only the first argument.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, word)
	}
}

// completeNothingAfter disables the completion of files for all commands that take no
// arguments.
func completeNothingAfter(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		completeNothingAfter(c)
	}
	if !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil && cmd.Args != nil && cmd.Args(cmd, []string{"x"}) != nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

func completeShipped(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, s := range scenarios.Shipped() {
		all = append(all, cobra.CompletionWithDesc(s.Name, s.Description))
	}
	return matching(all, word), cobra.ShellCompDirectiveNoFileComp
}

// completeScenario completes a scenario: the name of a shipped scenario, a file of the
// working directory, or any file if neither matches.
func completeScenario(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found, directive := completeShipped(cmd, args, word)
	if files, err := filepath.Glob("*.toml"); err == nil { // the pattern is valid
		found = append(found, matching(files, word)...)
	}
	if len(found) == 0 {
		return []cobra.Completion{"toml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return found, directive
}

func completeDirectory(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeRun completes the id of a run. The first argument is the run directory.
func completeRun(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	m, err := rundir.ReadManifest(rundir.Locate(args[0]))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []cobra.Completion
	for _, run := range m.Runs {
		all = append(all, cobra.CompletionWithDesc(run.ID, run.Method))
	}
	return matching(all, word), cobra.ShellCompDirectiveNoFileComp
}

// completeFlag sets the completion of the values of a flag.
func completeFlag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // the command lacks the flag, or its completion is set twice
	}
}

func oneOf(names []string) cobra.CompletionFunc {
	return oneOfOr(names, cobra.ShellCompDirectiveNoFileComp)
}

// oneOfOr completes one of names; the directive says what else the shell may offer.
func oneOfOr(names []string, directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return matching(names, word), directive
	}
}

// matching returns the completions that begin with a word.
func matching(all []cobra.Completion, word string) (found []cobra.Completion) {
	for _, c := range all {
		if strings.HasPrefix(c, word) {
			found = append(found, c)
		}
	}
	return found
}

// completeSet completes an override: the tables of a scenario, the keys of a table,
// and the values of a key. The scenario is the first argument, if it is valid. Only
// keys with the prefix are offered.
func completeSet(prefix string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		keys := slices.DeleteFunc(overridable(args),
			func(f config.Field) bool { return !strings.HasPrefix(f.Key, prefix) })
		if key, value, ok := strings.Cut(word, "="); ok {
			return values(keys, key, value)
		}
		if !strings.Contains(word, ".") {
			return append(thirty(keys, word), topLevel(keys, word)...), cobra.ShellCompDirectiveNoSpace |
				cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
		var all []cobra.Completion
		for _, f := range keys {
			all = append(all, cobra.CompletionWithDesc(f.Key+"=", f.Doc))
		}
		return matching(all, word),
			cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// thirty returns the keys that most scenarios set, of those that begin with a word.
func thirty(keys []config.Field, word string) (found []cobra.Completion) {
	for _, k := range scenario.ThirtyKeys {
		if slices.ContainsFunc(keys, func(f config.Field) bool { return f.Key == k.Key }) {
			found = append(found, cobra.CompletionWithDesc(k.Key+"=", k.Text))
		}
	}
	return matching(found, word)
}

// overridable returns the keys that --set can change in the scenario of args, or in
// any scenario.
func overridable(args []string) []config.Field {
	if len(args) > 0 {
		if s, err := scenario.Load(args[0], nil); err == nil {
			return scenario.Keys(s)
		}
	}
	return scenario.Keys(nil)
}

// topLevel returns the tables, and the keys outside tables, with the prefix word.
func topLevel(keys []config.Field, word string) []cobra.Completion {
	var found []cobra.Completion
	tables := map[string]int{} // number of keys
	var order []string
	for _, f := range keys {
		table, _, within := strings.Cut(f.Key, ".")
		switch {
		case !strings.HasPrefix(f.Key, word):
		case !within:
			found = append(found, cobra.CompletionWithDesc(f.Key+"=", f.Doc))
		default:
			if tables[table]++; tables[table] == 1 {
				order = append(order, table)
			}
		}
	}
	for _, table := range order {
		found = append(found,
			cobra.CompletionWithDesc(table+".", fmt.Sprintf("table of %s", count(tables[table], "key"))))
	}
	return found
}

// values returns overrides that set a key to one of its choices. For a key without
// choices, it returns the default.
func values(keys []config.Field, key, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	i := slices.IndexFunc(keys, func(f config.Field) bool { return f.Key == key })
	if i < 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	switch f := keys[i]; {
	case f.Type == "boolean":
		names = []string{"true", "false"}
	case f.Type == "string" && f.Choices == nil:
		return nil, cobra.ShellCompDirectiveDefault // it may be a file
	case f.Type == "string":
		names = f.Choices
	case f.Default != "":
		names = []string{f.Default}
	}
	var found []cobra.Completion
	for _, name := range names {
		if name != "" && strings.HasPrefix(name, prefix) {
			found = append(found, key+"="+name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
