package data

import (
	"errors"
	"io/fs"
	"testing"

	"fedsim/internal/tools/expect"
)

func TestLocateMissingFile(t *testing.T) {
	for folder, shown := range map[string]string{"": "not set", "elsewhere": "elsewhere"} {
		t.Setenv(FolderVariable, folder)
		_, err := Locate("none.csv")
		want := "file does not exist: looked for none.csv beside the scenario, in the working directory and in the " +
			"folder that FEDSIM_DATA names (" + shown + ")"
		expect.That(t, errors.Is(err, fs.ErrNotExist) && err.Error() == want, "%v, want %s", err, want)
	}
}
