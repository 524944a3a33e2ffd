package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/scenarios"
)

// starterFile is the file that fedsim init writes unless it is told another.
const starterFile = "scenario.toml"

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented scenario to start one's own from",
		Long: `Write a commented scenario to start one's own from: two methods on a small data set,
and every key with its meaning and default. It runs as it is. FILE is ` + starterFile + `
unless it is given; a file that exists is left alone.`,
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
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; to run it: fedsim run %s\n", name, name)
			return err
		},
	}
}

// writeStarter writes the scenario to a file that there is none of.
func writeStarter(file string) error {
	name, ok := strings.CutSuffix(filepath.Base(file), ".toml")
	if !ok || !config.IsName(name) {
		return usagef("%s: must end in .toml, and the name before it %s", file, config.NameRule)
	}
	// Not by way of another name: it must not replace what is there.
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s: exists, and is left alone", file)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(scenarios.Starter(name))
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(file)) // no half of it
	}
	return nil
}
