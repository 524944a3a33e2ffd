package federation

import (
	"os/exec"
	"testing"
)

// The twin of Oort in Python makes the files that the selector is tested with.
func TestOortTwinMakesItsFiles(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run testdata/oort/twin.py")
	}
	if out, err := exec.Command(python, "testdata/oort/twin.py", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
