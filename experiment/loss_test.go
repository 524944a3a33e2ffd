package experiment

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// Without problem.loss, a method that minimizes P gives all methods of its experiment the hinge loss. Otherwise the
// loss follows from the data. Runs and summary name it.
func TestLossThatNoScenarioNames(t *testing.T) {
	const classes, average, dual = `[data]
target = "classes"
[data.synthetic]
classes = 3
clients = 3
features = 4
rows_min = 10
rows_max = 12
[run]
rounds = 1
`, "[methods.fedavg]\n", "[methods.mocha]\n"
	two := strings.NewReplacer("classes = 3\n", "", `"classes"`, `"class"`).Replace(classes)
	reals := strings.Replace(two, `"class"`, `"real"`, 1)
	for _, c := range []struct {
		source string
		set    []string
		want   string
	}{
		{classes + average, nil, "softmax"},
		{classes + dual, nil, "hinge, one class against the rest"},
		{classes + average + dual, nil, "hinge, one class against the rest"},
		{classes + average + "[methods.mb-sgd]\noptions = { batch = 2 }\n", nil, "hinge, one class against the rest"},
		{classes + average + dual + "[[experiment]]\nname = \"x\"\nmethods = [\"fedavg\"]\n", nil, "softmax"},
		{classes + average, []string{"problem.loss=logistic"}, "logistic, one class against the rest"},
		{classes + average, []string{"problem.model=mlp", "problem.model_options.hidden=[3]"}, "softmax"},
		{two + average, nil, "logistic"},
		{two + average + dual, nil, "hinge"},
		{reals + average + dual, nil, "squared"},
	} {
		runs := mustGather(t, scenarioOf(t, c.source, c.set...).Experiments, Options{})
		all := make([]results.Run, len(runs))
		for i := range runs {
			all[i] = runs[i]
			expect.That(t, runs[i].Loss == c.want,
				"%s%q: %s has the loss %q, want %q", c.source, c.set, runs[i].Method, runs[i].Loss, c.want)
		}
		if text := results.Summarize(all, nil).Sections().Text(120); strings.Count(text, "  loss: "+c.want+"\n") != 1 {
			t.Errorf("the summary does not name %q once:\n%s", c.want, text)
		}
	}
}
