package command

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

func init() { programs["swap-model"] = swapModel }

// swapModel puts something else in place of the model of the one group of a plan: swap-model
// DIR pipe|device|outside.
func swapModel() {
	models, err := filepath.Glob(filepath.Join(os.Args[1], "done", "*", ".unfinished", "models"))
	if err != nil || len(models) != 1 {
		fail(errors.Join(err, errors.New("there must be one group with models")))
	}
	model := filepath.Join(models[0], "000000.npy")
	var failed error
	switch os.Args[2] {
	case "pipe":
		failed = errors.Join(os.Rename(model, "model.npy"), syscall.Mkfifo(model, 0o666))
	case "device":
		failed = errors.Join(os.Remove(model), os.Symlink("/dev/zero", model))
	case "outside": // the whole folder
		absolute, err := filepath.Abs("elsewhere")
		failed = errors.Join(err, os.Remove(model), os.Rename("model.npy", model), os.Rename(models[0], absolute),
			os.Symlink(absolute, models[0]))
	}
	if failed != nil {
		fail(failed)
	}
}
