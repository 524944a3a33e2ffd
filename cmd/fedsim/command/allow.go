package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fedsim/algorithms"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/quote"
	"fedsim/mtl"
)

func (f *computeFlags) addAllow(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allowExternal, "allow-external", false,
		"start the programs that the scenario names")
}

func addOtherProgram(cmd *cobra.Command, into *bool, what string) {
	cmd.Flags().BoolVar(into, "allow-other-program", false, what+" (docs/protocols.md#model); the results say so")
}

// allow asks whether the programs that the runs of a scenario start may run. It prints
// them first. Without a terminal it requires --allow-external. A caller must start none
// before, and none after an error.
func (f *computeFlags) allow(cmd *cobra.Command, s *scenario.Scenario) error {
	programs := programsOf(s)
	if len(programs) == 0 {
		return nil
	}
	out := cmd.ErrOrStderr()
	if !f.allowExternal && !isTerminal(cmd.InOrStdin(), out) {
		return usagef("%s starts %s: add --allow-external if you trust it", s.File, strings.Join(programs, " and "))
	}
	// The lines are not cut: an argument out of sight may be the one that matters.
	var b strings.Builder
	fmt.Fprintf(&b, "fedsim: %s starts %s, with your permissions:\n", quote.Line(s.File),
		count(len(programs), "program"))
	for _, p := range programs {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	if !f.allowExternal {
		b.WriteString("Start? [y/N] ")
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write standard error: %w", err)
	}
	if f.allowExternal {
		return nil
	}
	answer, err := readLine(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		_, _ = fmt.Fprintln(out)
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return usagef("not started")
	}
	return nil
}

// programsOf describes the programs that the runs of a scenario start, each once.
func programsOf(s *scenario.Scenario) []string {
	var programs []string
	for _, e := range s.Experiments {
		for _, j := range e.Jobs {
			for i := range j.Candidates {
				run := &j.Candidates[i]
				add := func(text string) {
					if !slices.Contains(programs, text) {
						programs = append(programs, text)
					}
				}
				if o, ok := run.Options.(algorithms.Outside); ok {
					add("methods." + run.Method + ": " + commandText(o.Program()))
				}
				if p := &run.Settings.Problem; p.Model == mtl.ModelExternal {
					add("problem: " + commandText(p.Command.Words()))
				}
			}
		}
	}
	return programs
}

// commandText returns a command whose parts cannot be mistaken or hidden: a part with
// more than letters, digits and a few signs is quoted, with escapes for what cannot be
// printed.
func commandText(command []string) string {
	parts := make([]string, len(command))
	for i, part := range command {
		if parts[i] = part; part == "" || strings.ContainsFunc(part, unusual) {
			parts[i] = strconv.QuoteToASCII(part)
		}
	}
	return strings.Join(parts, " ")
}

// unusual reports whether a character is quoted in a command.
func unusual(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return !strings.ContainsRune("-_./:=,+@%", r)
	}
}

// isTerminal reports whether a question can be asked.
func isTerminal(in io.Reader, out io.Writer) bool {
	for _, stream := range []any{in, out} {
		f, ok := stream.(*os.File)
		if !ok || !term.IsTerminal(int(f.Fd())) {
			return false
		}
	}
	return true
}

// readLine reads a line, or less if the input ends. An interrupt ends the reading.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	read := make(chan string, 1)
	go func() { // until the line comes; after an interrupt, until the process ends
		line, _ := bufio.NewReader(in).ReadString('\n') // an error is no answer
		read <- line
	}()
	select {
	case line := <-read:
		return line, nil
	case <-ctx.Done():
		return "", interrupted{"interrupted; nothing was started", context.Cause(ctx)}
	}
}
