package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment/scenario"
)

const starterFile = "scenario.toml"

func newInit() *cobra.Command {
	var everything bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a short scenario to start from",
		Long: `Write a scenario to start from, with a line for each of the thirty keys that make most
scenarios (docs/thirty-keys.md). It compares two methods. FILE defaults to
` + starterFile + `. An existing file is never overwritten.`,
		Example: `  fedsim init mine.toml
  fedsim run mine.toml`,
		Args: takes(0, 1, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := starterFile
			if len(args) > 0 {
				name = args[0]
			}
			starter := scenario.ShortStarter
			if everything {
				starter = scenario.Starter
			}
			if err := writeStarter(name, starter); err != nil {
				return err
			}
			return printf(cmd.OutOrStdout(), "wrote %s; run it with: fedsim run %s\n", name, name)
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "write every key, with its meaning and default")
	return cmd
}

func writeStarter(file string, starter func(name string) []byte) error {
	name, ok := strings.CutSuffix(filepath.Base(file), ".toml")
	if !ok || !config.IsName(name) {
		return usagef("%s: must end in .toml, and the name before it %s", file, config.NameRule)
	}
	// Do not rename a temporary file: that would replace an existing file.
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s: already exists: choose another name", file)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(starter(name))
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(file)) // leave no partial file
	}
	return nil
}
