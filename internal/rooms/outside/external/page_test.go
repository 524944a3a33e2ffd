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

// pageOf returns the scenario and the transcripts of a page.
func pageOf(t *testing.T, name string, n int) (sources, transcripts []string) {
	t.Helper()
	page := filetest.Read(t, "../../../../docs/"+name+".md")
	sources, transcripts = blocks(string(page), "toml"), blocks(string(page), "transcript")
	if len(sources) != 1 || len(transcripts) != n {
		t.Fatalf("%d scenarios and %d transcripts", len(sources), len(transcripts))
	}
	return sources, transcripts
}

// The transcripts of docs/learner-protocol.md are what fedsim asks, with its scenario.
func TestTheTranscriptsOfThePage(t *testing.T) {
	t.Parallel()
	sources, transcripts := pageOf(t, "learner-protocol", 2)
	sets := [][]string{nil, {"federation.protocol=asynchronous", "federation.over_selection=1", "run.rounds=2"}}
	for i, transcript := range transcripts {
		file := filetest.New(t, "transcript", transcript)
		s, err := scenario.Parse([]string{"a.toml", "b.toml"}[i], []byte(sources[0]), append(sets[i], "methods.mean.command="+config.Literal(scripted(file))))
		if err != nil {
			t.Fatal(err)
		}
		var rounds []results.Round
		record := &recordtest.Recorder{End: func(_ int, r results.Run) error {
			rounds = r.Rounds
			return nil
		}}
		if err := experiment.Run(t.Context(), s.Experiments, experiment.Options{Clock: time.Now, Recorder: record}); err != nil {
			t.Fatal(err)
		}
		if last := rounds[len(rounds)-1]; len(last.Metrics) != 1 || last.Metrics[0].Value < 0.4 || last.TestError != 1-last.Metrics[0].Value {
			t.Errorf("transcript %d: the last round is %+v", i, last)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("transcript %d: the run ends before its end", i)
		}
	}
}

// The transcript of docs/model-protocol.md is what fedsim asks, with its scenario.
func TestTheTranscriptOfTheModelPage(t *testing.T) {
	t.Parallel()
	sources, transcripts := pageOf(t, "model-protocol", 1)
	file := filetest.New(t, "transcript", transcripts[0])
	s, err := scenario.Parse("a.toml", []byte(sources[0]), []string{"problem.command=" + config.Literal(scripted(file))})
	if err != nil {
		t.Fatal(err)
	}
	var run results.Run
	record := &recordtest.Recorder{End: func(_ int, r results.Run) error {
		run = r
		return nil
	}}
	if err := experiment.Run(t.Context(), s.Experiments, experiment.Options{Clock: time.Now, Recorder: record, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	if last := run.Rounds[len(run.Rounds)-1]; last.TrainError != 0.25 || run.External.Program != "line 5d41" || !slices.Equal(last.Metrics, []results.NamedValue{{Split: "train", Name: "recall", Value: 0.625}}) {
		t.Errorf("the last round is %+v, of %q", last, run.External.Program)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the run ends before the end of the transcript")
	}
}
