package external_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

// blocks returns the code blocks of a page in a language.
func blocks(page, language string) (found []string) {
	for {
		_, rest, ok := strings.Cut(page, "\n```"+language+"\n")
		if !ok {
			return found
		}
		var block string
		block, page, _ = strings.Cut(rest, "\n```\n")
		found = append(found, block)
	}
}

// sectionOf returns the scenario and the transcripts of a section of docs/protocols.md.
func sectionOf(t *testing.T, name string, n int) (sources, transcripts []string) {
	t.Helper()
	_, section, _ := strings.Cut(string(filetest.Read(t, "../../../../docs/protocols.md")), "\n## "+name+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	sources, transcripts = blocks(section, "toml"), blocks(section, "transcript")
	expect.Must(t, len(sources) == 1 && len(transcripts) == n,
		"%d scenarios and %d transcripts", len(sources), len(transcripts))
	return sources, transcripts
}

// The transcripts of learners in docs/protocols.md are what fedsim asks, with its scenario.
func TestTheTranscriptsOfThePage(t *testing.T) {
	t.Parallel()
	sources, transcripts := sectionOf(t, "Learner", 2)
	sets := [][]string{nil, {"federation.protocol=asynchronous", "federation.protocol_options.over_selection=1",
		"run.rounds=2"}}
	for i, transcript := range transcripts {
		file := filetest.New(t, "transcript", transcript)
		s := expect.Value(scenario.Parse([]string{"a.toml", "b.toml"}[i], []byte(sources[0]),
			append(sets[i], "methods.mean.program.command="+config.Literal(scripted(file)))))(t)
		var rounds []results.Round
		record := &recordtest.Recorder{End: func(_ int, r results.Run) error {
			rounds = r.Rounds
			return nil
		}}
		expect.NoError(t,
			experiment.Run(t.Context(), s.Experiments, experiment.Options{Clock: time.Now, Recorder: record}))
		if last := rounds[len(rounds)-1]; len(last.Metrics) != 1 || last.Metrics[0].Value < 0.4 ||
			last.TestError != 1-last.Metrics[0].Value {
			t.Errorf("transcript %d: the last round is %+v", i, last)
		}
		_, err := os.Stat(file)
		expect.That(t, err != nil, "transcript %d: the run ends before its end", i)
	}
}

// The transcript of a model in docs/protocols.md is what fedsim asks, with its scenario.
func TestTheTranscriptOfTheModelPage(t *testing.T) {
	t.Parallel()
	sources, transcripts := sectionOf(t, "Model", 1)
	file := filetest.New(t, "transcript", transcripts[0])
	s :=
		expect.Value(
			scenario.Parse("a.toml", []byte(sources[0]),
				[]string{"problem.program.command=" + config.Literal(scripted(file))}))(t)
	var run results.Run
	record := &recordtest.Recorder{End: func(_ int, r results.Run) error {
		run = r
		return nil
	}}
	expect.NoError(t,
		experiment.Run(t.Context(), s.Experiments, experiment.Options{Clock: time.Now, Recorder: record, Workers: 1}))
	if last := run.Rounds[len(run.Rounds)-1]; last.TrainError != 0.25 || run.External.Program != "line 5d41" ||
		!slices.Equal(last.Metrics, []results.NamedValue{{Split: "train", Name: "recall", Value: 0.625}}) {
		t.Errorf("the last round is %+v, of %q", last, run.External.Program)
	}
	_, err := os.Stat(file)
	expect.That(t, err != nil, "the run ends before the end of the transcript")
}
