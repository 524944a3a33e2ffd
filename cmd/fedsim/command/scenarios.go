package command

import (
	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
	"fedsim/scenarios"
)

func newScenarios() *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "scenarios",
		Short: "List and print scenarios; print the schema for editors",
		Example: `  fedsim scenarios list
  fedsim scenarios show quickstart > mine.toml
  fedsim scenarios schema > fedsim.schema.json`,
	}, newScenariosList(), newScenariosShow(), newScenariosSchema())
}

func newScenariosList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the shipped scenarios",
		Example: `  fedsim scenarios list
  fedsim scenarios list --json`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return plainjson.Print(cmd.OutOrStdout(), scenarios.Shipped())
			}
			var names, texts []string
			for _, s := range scenarios.Shipped() {
				names, texts = append(names, s.Name), append(texts, s.Description)
			}
			return printText(cmd.OutOrStdout(), columns.Entries(names, texts, textWidth()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/reference/json.md)")
	return cmd
}

func newScenariosShow() *cobra.Command {
	return takesOne(&cobra.Command{
		Use:     "show NAME",
		Short:   "Print a shipped scenario, to start from",
		Example: "  fedsim scenarios show quickstart > mine.toml",
	}, "the name of one shipped scenario", completeShipped, func(cmd *cobra.Command, name string) error {
		text, ok := scenarios.Source(name)
		if !ok {
			var names []string
			for _, s := range scenarios.Shipped() {
				names = append(names, s.Name)
			}
			return usagef("%s; see fedsim scenarios list", config.UnknownName("scenario", name, name, names))
		}
		_, err := cmd.OutOrStdout().Write(text)
		return err
	})
}

func newScenariosSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of scenario files: every key with its type,
default and meaning, and the options of every algorithm. An editor that supports JSON
Schema for TOML completes and explains the keys of a file that starts with the line

  #:schema fedsim.schema.json

The schema does not check ranges or combinations of keys; use "fedsim check".`,
		Example: "  fedsim scenarios schema > fedsim.schema.json",
		Args:    takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scenario.WriteSchema(cmd.OutOrStdout())
		},
	}
}

func count(n int, what string) string {
	return columns.Count(n, what)
}
