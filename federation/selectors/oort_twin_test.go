package selectors

import (
	"os/exec"
	"testing"
)

// The twins of Oort in Python make the files that the selector is tested with.
func TestOortTwinsMakeTheirFiles(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run testdata/oort/twin.py")
	}
	for _, twin := range []string{"twin.py", "authors.py"} {
		if out, err := exec.Command(python, "-B", "testdata/oort/"+twin, "--check").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", twin, err, out)
		}
	}
}
