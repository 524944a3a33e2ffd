package submit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// folder is the folder of a plan directory for submitted files.
const folder = "submitted"

// Place sets the number and the file of a submission to an engine: the first free ones.
func (j *Job) Place(e *Engine) {
	j.Number = 1
	entries, _ := os.ReadDir(filepath.Join(j.Dir, folder)) // it may not be there yet
	for _, f := range entries {
		number, _, _ := strings.Cut(f.Name(), "-")
		if n, err := strconv.Atoi(number); err == nil {
			j.Number = max(j.Number, n+1)
		}
	}
	j.File = filepath.Join(j.Dir, folder, fmt.Sprintf("%d-%s%s", j.Number, e.Name, filepath.Ext(e.file)))
}

// Send writes the text of a job to its file and runs the submit command in the folder of the
// file, where many schedulers write the output of tasks. It returns what the command
// printed, in one line. Its error has what it printed on standard error.
func Send(ctx context.Context, j *Job, text string, submit []string) (printed string, err error) {
	program, err := exec.LookPath(submit[0])
	if err != nil {
		return "",
			fmt.Errorf(
				"%s: not found: submit from a machine that has it, or write the file with --print and submit it there",
				submit[0])
	}
	err = input.RequireFolder(filepath.Dir(j.File))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(j.File), 0o777)
	}
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(j.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s: another process submits the plan: submit again", j.File)
	}
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, submit[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(j.File), &out, &errs
	if err := cmd.Run(); err != nil {
		text := cmp.Or(strings.TrimSpace(errs.String()), strings.TrimSpace(out.String()), "printed nothing")
		return "", fmt.Errorf("%s: %w: %s; the file is %s", submit[0], err, quote.Line(text), j.File)
	}
	return quote.Line(strings.TrimSpace(out.String())), nil
}
