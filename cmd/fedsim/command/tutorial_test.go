package command

import (
	"bytes"
	"errors"
	"flag"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var updateTutorial = flag.Bool("update-tutorial", false, "rewrite the outputs and the picture of docs/tutorial.md")

// fence is a code block of a page.
type fence struct {
	info string // after the backquotes
	text string
}

// fences splits a page into its code blocks and the text between them, before the first
// and after the last.
func fences(page string) (between []string, found []fence) {
	var text strings.Builder
	var block *fence
	for line := range strings.Lines(page) {
		info, ok := strings.CutPrefix(line, "```")
		switch {
		case ok && block == nil:
			between = append(between, text.String())
			text.Reset()
			block = &fence{info: strings.TrimSpace(info)}
		case ok:
			block.text = text.String()
			text.Reset()
			found = append(found, *block)
			block = nil
		default:
			text.WriteString(line)
		}
	}
	return append(between, text.String()), found
}

// TestTutorial runs the commands of docs/tutorial.md, block by block in one folder, and
// compares their output with the block of text that follows. It skips the sections on installation
// and on Flower, which "make test-release" runs from the files of a release.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("draws six times")
	}
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	dir, bin := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	expect.NoError(t, err)
	// The test binary acts as fedsim if that is its name, see TestMain.
	if err := os.Symlink(self, filepath.Join(bin, "fedsim")); err != nil {
		t.Skipf("there are no symbolic links: %v", err)
	}
	between, found := fences(read(t, "docs/tutorial.md"))
	ran, section := 0, ""
	for i := range found {
		if _, after, ok := strings.Cut(between[i], "\n## "); ok {
			section, _, _ = strings.Cut(after, "\n")
		}
		if !strings.HasPrefix(found[i].info, "sh") || section == "Install" || section == "A Flower app" {
			continue
		}
		ran++
		expect.Must(t, i+1 != len(found) && found[i+1].info == "text", "%sno output follows", found[i].text)
		perform(t, shell, dir, bin, found[i], &found[i+1])
	}
	expect.That(t, ran >= 12, "ran %d blocks, the page has at least 12", ran)
	picture := filetest.Read(t, filepath.Join(dir, "runs/drops/figures/drops.png"))
	if *updateTutorial {
		rewriteTutorial(t, between, found, picture)
	}
	far := distance(t, picture, []byte(read(t, "docs/images/tutorial.png")))
	expect.That(t, far <= 0.003, "docs/images/tutorial.png differs from the figure of the run by %.3f", far)
}

// perform runs the commands of a block of a page in dir, with the programs in bin first, and
// compares their output with the block behind it.
func perform(t *testing.T, shell, dir, bin string, block fence, printed *fence) {
	t.Helper()
	cmd := exec.Command(shell, "-e", "-c", block.text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages // on a slow machine with progress
	err := cmd.Run()
	exit, _ := errors.AsType[*exec.ExitError](err)
	if refused := exit != nil && exit.ExitCode() == exitUsage; refused != (block.info == "sh fails") ||
		err != nil && !refused {
		t.Fatalf("%s%v\n%s%s", block.text, err, &out, &messages)
	} else if refused {
		out = messages
	}
	if *updateTutorial {
		printed.text = out.String()
	}
	diff := cmp.Diff(printed.text, out.String())
	expect.That(t, diff == "", "%s(-page +printed):\n%s", block.text, diff)
}

// distance returns the mean difference of the pixels of two PNGs; black and white differ
// by 1. A small distance allows for differences between machines, as in the outlines of
// letters.
func distance(t *testing.T, one, other []byte) float64 {
	t.Helper()
	a := expect.Value(png.Decode(bytes.NewReader(one)))(t)
	b := expect.Value(png.Decode(bytes.NewReader(other)))(t)
	if a.Bounds() != b.Bounds() {
		return 1
	}
	sum := 0.0
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			p, q := color.GrayModel.Convert(a.At(x, y)).(color.Gray), color.GrayModel.Convert(b.At(x, y)).(color.Gray)
			sum += math.Abs(float64(p.Y)-float64(q.Y)) / 255
		}
	}
	return sum / float64(a.Bounds().Dx()*a.Bounds().Dy())
}

func rewriteTutorial(t *testing.T, between []string, found []fence, picture []byte) {
	t.Helper()
	rewritePage(t, "docs/tutorial.md", between, found)
	filetest.Write(t, filepath.Join(root, "docs/images/tutorial.png"), picture)
}
