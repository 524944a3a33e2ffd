package scenarios

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/scenarios.md")

func TestReferenceIsUpToDate(t *testing.T) {
	const page = "../docs/scenarios.md"
	var b bytes.Buffer
	if err := WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is out of date: run go test ./scenarios -run Reference -update (-file +schema):\n%s", page, diff)
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Reference() {
		if f.Doc == "" {
			t.Errorf("%s has no doc tag", f.Key)
		}
		seen[f.Key] = true
	}
	for _, key := range []string{"name", "sweep", "data.source", "data.synthetic.tasks", "run.seeds", "methods.<label>.algorithm",
		"methods.<label>.options.epochs", "experiment.methods", "experiment.axis.points[].label", "experiment.tuning.target", "experiment.figure.panel"} {
		if !seen[key] {
			t.Errorf("the reference lacks %s", key)
		}
	}
}
