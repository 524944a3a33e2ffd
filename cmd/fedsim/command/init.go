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
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented scenario to start from",
		Long: `Write a commented scenario to start from. It runs two methods on a small data set
and lists every key with its meaning and default; a sweep of lists and a sample of
ranges (experiment.sample) are there as comments. FILE defaults to ` + starterFile + `.
An existing file is never overwritten.`,
		Example: `  fedsim init mine.toml
  fedsim run mine.toml`,
		Args: takes(0, 1, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := starterFile
			if len(args) > 0 {
				name = args[0]
			}
			if err := writeStarter(name); err != nil {
				return err
			}
			return printf(cmd.OutOrStdout(), "wrote %s; run it with: fedsim run %s\n", name, name)
		},
	}
}

func writeStarter(file string) error {
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
	_, err = out.Write(scenario.Starter(name))
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(file)) // leave no partial file
	}
	return nil
}
