package experiment

import (
	"fmt"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// outside is a method in another process with more options.
func outside(options string, keys ...string) string {
	return fmt.Sprintf(`
[methods.outside]
algorithm = "external"
program.command = %s
options = { tasks = 5, features = 6, rows_min = 10, rows_max = 30, options = { batch = "all", step = 0.5 }, %s }
%s
`, learnerCommand(), options, strings.Join(keys, "\n"))
}

// A learner that breaks the protocol ends the run with an error of one line
// that names run, learner, round and operation.
func TestFaultsOfLearners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fault, want string }{
		{"solve/exit/2", "out of memory, said the learner"},
		{"solve/hang/2", "failed in round 2: solve: did not answer in 2s"},
		{"solve/garbage/2", `failed in round 2: solve: answers "Traceback (most recent call last):": byte 1: `},
		{"solve/half/2", "failed in round 2: solve: exited with status 0"},
		{"solve/long/2", "failed in round 2: solve: wrote a line of more than 67108864 bytes"},
		{"solve/nan/2", "failed in round 2: solve: answers with work[0].flops: must be a number of FLOPs in [0, 1e24]"},
		{"solve/missing/2",
			"failed in round 2: solve: answers with the work of 0 clients: must be that of 5; client 0 is missing"},
		{"solve/error/2", "failed in round 2: solve: it reports: CUDA out of memory; second line"},
		{"begin/bytes/1", "failed in round 1: begin: answers with down_bytes: must be a whole number of bytes"},
		{"end/negative/3", "failed in round 3: end: answers with flops: must be a number of FLOPs in [0, 1e24]"},
		{"commit/garbage/1", `failed in round 1: commit: answers "Traceback (most recent call last):": byte 1: `},
		{"evaluate/exit/0", "failed in round 0: evaluate: exited with status 7"},
		{"evaluate/metric/2", `in round 2: metric "test_acuracy"`},
		{"evaluate/hash/2",
			`failed in round 2: evaluate: answers with model_hash: must be 16 hexadecimal digits, not "x`},
		{"start/error/0", "start: it reports: CUDA out of memory; second line"},
		{"start/bytes/0", "start: answers with down_bytes: must be a whole number of bytes"},
		{"finish/exit/0", "finish: exited with status 7"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			key := ""
			if strings.Contains(c.fault, "hang") {
				key = "program.timeout_s = 2" // the start must take less on a loaded machine
			}
			_, err := gather(t.Context(), parse(t, outside(fmt.Sprintf("fault = %q", c.fault), key), "run.rounds=4"),
				Options{})
			expect.Must(t, err != nil, "no error")
			text := err.Error()
			expect.That(t, strings.Contains(text, c.want) && !strings.Contains(text, "\n"),
				"got\n%s\nwant\n%s", text, c.want)
			for _, part := range []string{"run small/outside/seed=1: ", "learner test learner"} {
				expect.That(t, strings.Contains(text, part), "%s: lacks %q", text, part)
			}
		})
	}
}

// A missing ability of a learner is an error before the first round, with the key to change.
func TestLearnersThatLackAbilities(t *testing.T) {
	t.Parallel()
	for lacks, c := range map[string]struct{ set, want string }{
		"receive": {"federation.protocol=asynchronous",
			`federation.protocol = "asynchronous": must be another: learner test learner works in rounds`},
		"loss": {"federation.selection=power-of-choice federation.selection_options.candidates=3",
			`federation.selection = "power-of-choice": must be another: learner test learner cannot report the ` +
				`losses of clients`},
	} {
		source := strings.Replace(outside(""), learnerCommand(), learnerCommand(lacks), 1)
		source = strings.Replace(source, ", }", "}", 1)
		_, err := gather(t.Context(), parse(t, source,
			append(strings.Fields(c.set), "federation.clients_per_round=2")...), Options{})
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want),
			"without %s: %v, want %s", lacks, err, c.want)
	}
}
