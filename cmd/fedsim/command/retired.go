package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/scenarios"
)

// retired are former commands and flags, each with its replacement.
var retired = []struct{ old, now string }{
	{"results", `"fedsim show" and "fedsim export"`},
	{"status", `"fedsim show"`},
	{"serve", `"fedsim report DIR --live"`},
	{"replay", `"fedsim calibrate --check LOG --with DIR --attempts FILE"`},
	{"tune", `"fedsim run SCENARIO --tune-only"`},
	{"scenarios validate", `"fedsim check"`},
	{"learner", `"fedsim check --learner -- COMMAND" and "fedsim check --model SCENARIO"`},
	{"algorithms", `"fedsim methods"`},
	{"plan SCENARIO", `"fedsim plan make SCENARIO -o DIR"`},
	{"submit", `"fedsim plan submit"`},
	{"work", `"fedsim plan work"`},
	{"merge", `"fedsim plan merge"`},
	{"trace convert", `"python -m pyfedsim.traces"`},
	{"trace grid", `energy.grid = "generated" in a scenario`},
	{"run --all", `"fedsim show DIR --all"`},
	{"run --timeline", timelineNow}, {"run --timeline-run", timelineNow},
	{"run --timeline-devices", timelineNow}, {"run --timeline-rounds", timelineNow},
	{"engine --timeline", timelineNow}, {"engine --timeline-run", timelineNow},
	{"engine --timeline-devices", timelineNow}, {"engine --timeline-rounds", timelineNow},
	{"explain --clients", `"fedsim report DIR" and "fedsim export DIR clients"`},
	{"export --table", `"fedsim export DIR TABLE -o FILE"`},
	{"export --format", `"fedsim export DIR TABLE -o FILE"`},
	{"export --model", `"fedsim export DIR model -o FILE"`},
	{"version --licenses", `"fedsim --licenses"`},
}

const timelineNow = `"fedsim explain DIR --timeline FILE"`

// retiredError is the error of something that is gone.
func retiredError(old string) error {
	for _, r := range retired {
		if r.old == old {
			return usagef("fedsim %s: is now %s", old, r.now)
		}
	}
	return nil
}

// retiredCommand returns the error of a command line whose command is gone; nil: there is none.
func retiredCommand(root *cobra.Command, args []string) error {
	group, rest, err := root.Find(args)
	if err != nil || !group.HasSubCommands() {
		return nil
	}
	at := slices.IndexFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if at < 0 {
		return nil
	}
	word := rest[at]
	path := strings.TrimPrefix(group.CommandPath()+" ", root.Name()+" ")
	_, shipped := scenarios.Source(word)
	if path == "plan " && (shipped || strings.HasSuffix(word, ".toml")) {
		word = "SCENARIO"
	}
	return retiredError(path + word)
}
