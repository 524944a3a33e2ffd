package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// shells are those whose completion scripts can be printed.
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
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long: `Print the script by which a shell completes commands, flags, names of scenarios and
the keys and values of --set. To have it in every new shell:

  bash        fedsim completion bash > /etc/bash_completion.d/fedsim
  zsh         fedsim completion zsh > "${fpath[1]}/_fedsim"
  fish        fedsim completion fish > ~/.config/fish/completions/fedsim.fish
  powershell  fedsim completion powershell >> $PROFILE

bash needs the package bash-completion.`,
		Example: `  source <(fedsim completion bash)
  fedsim completion fish | source`,
		Args:              takes(1, 1, "one shell"),
		ValidArgsFunction: first(oneOf(names)),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return s.write(cmd.Root(), cmd.OutOrStdout())
				}
			}
			return usagef("%s", config.UnknownName("shell", args[0], args[0], names))
		},
	}
}

// first completes the first argument and none after it.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, word)
	}
}

// completeNothingAfter gives all commands that take no arguments completions of
// none, where the shell would offer files.
func completeNothingAfter(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		completeNothingAfter(c)
	}
	if !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil && cmd.Args != nil && cmd.Args(cmd, []string{"x"}) != nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// completeShipped completes the name of a shipped scenario.
func completeShipped(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, s := range scenarios.Shipped() {
		if strings.HasPrefix(s.Name, word) {
			found = append(found, cobra.CompletionWithDesc(s.Name, s.Description))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeScenario completes a scenario: the name of a shipped one, a file of the
// working folder, or any file once neither fits.
func completeScenario(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found, directive := completeShipped(cmd, args, word)
	if files, err := filepath.Glob("*.toml"); err == nil { // the pattern is right
		for _, name := range files {
			if strings.HasPrefix(name, word) {
				found = append(found, name)
			}
		}
	}
	if len(found) == 0 {
		return []cobra.Completion{"toml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return found, directive
}

// completeDirectory completes a run directory.
func completeDirectory(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeRun completes the id of a run of the directory that is the first argument,
// when there is one that holds runs.
func completeRun(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	m, err := rundir.ReadManifest(rundir.Locate(args[0]))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []cobra.Completion
	for _, run := range m.Runs {
		if strings.HasPrefix(run.ID, word) {
			found = append(found, cobra.CompletionWithDesc(run.ID, run.Method))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag completes the values of a flag that cmd has.
func completeFlag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // the command lacks the flag, or it is completed twice
	}
}

// oneOf completes one of the names.
func oneOf(names []string) cobra.CompletionFunc {
	return oneOfOr(names, cobra.ShellCompDirectiveNoFileComp)
}

// oneOfOr completes one of the names, or what the directive says.
func oneOfOr(names []string, directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var found []cobra.Completion
		for _, name := range names {
			if strings.HasPrefix(name, word) {
				found = append(found, name)
			}
		}
		return found, directive
	}
}

// completeSet completes an override: the tables of a scenario, the keys of a
// table, the names that a key takes. The scenario is the first argument, when
// there is one that is right; the keys are those under the prefix.
func completeSet(prefix string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		keys := slices.DeleteFunc(reached(args), func(f config.Field) bool { return !strings.HasPrefix(f.Key, prefix) })
		if key, value, ok := strings.Cut(word, "="); ok {
			return values(keys, key, value)
		}
		if !strings.Contains(word, ".") {
			return openings(keys, word), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
		var found []cobra.Completion
		for _, f := range keys {
			if strings.HasPrefix(f.Key, word) {
				found = append(found, cobra.CompletionWithDesc(f.Key+"=", f.Doc))
			}
		}
		return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// reached returns the keys that an override reaches in the scenario that args
// name, or in any.
func reached(args []string) []config.Field {
	if len(args) > 0 {
		if s, err := scenarios.Load(args[0], nil); err == nil {
			return scenarios.Keys(s)
		}
	}
	return scenarios.Keys(nil)
}

// openings returns the tables, and the keys outside tables, that begin with word.
func openings(keys []config.Field, word string) []cobra.Completion {
	var found []cobra.Completion
	tables := map[string]int{} // keys of each
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
		found = append(found, cobra.CompletionWithDesc(table+".", fmt.Sprintf("table of %s", count(tables[table], "key"))))
	}
	return found
}

// values returns the overrides that give a key one of the names that it takes;
// of keys that take anything the default, to start from.
func values(keys []config.Field, key, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
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
		if name != "" && strings.HasPrefix(name, begun) {
			found = append(found, key+"="+name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
