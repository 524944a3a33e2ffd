package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// TestClustersPage runs the commands of docs/clusters.md whose output follows, in one folder,
// and compares their output. The others need a cluster; "make test-slurm",
// "make test-hyperqueue" and "make test-kubernetes" have them.
func TestClustersPage(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	self, err := os.Executable()
	expect.NoError(t, err)
	dir, bin := t.TempDir(), t.TempDir()
	// As in TestMain, the test binary acts as fedsim if that is its name. Workers are started
	// by the path of the binary, where a link has the name of its target.
	if err := os.Link(self, filepath.Join(bin, "fedsim")); err != nil {
		t.Skipf("there are no links: %v", err)
	}
	between, found := fences(read(t, "docs/clusters.md"))
	ran := 0
	for i := range len(found) - 1 {
		if found[i].info != "sh" || found[i+1].info != "text" {
			continue
		}
		ran++
		perform(t, shell, dir, bin, found[i], &found[i+1])
	}
	expect.That(t, ran >= 4, "ran %d blocks, the page has at least 4", ran)
	if *updateTutorial {
		rewritePage(t, "docs/clusters.md", between, found)
	}
}

// rewritePage writes a page of its blocks and the text between them.
func rewritePage(t *testing.T, name string, between []string, found []fence) {
	t.Helper()
	var page strings.Builder
	for i, block := range found {
		page.WriteString(between[i] + "```" + block.info + "\n" + block.text + "```\n")
	}
	page.WriteString(between[len(found)])
	expect.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(page.String()), 0o644))
}

// The page names everything in which merged bytes may differ: what withoutClock removes.
func TestClustersPageNamesWhatDiffers(t *testing.T) {
	beginning, _, _ := strings.Cut(read(t, "docs/clusters.md"), "\n## ")
	for _, name := range []string{"`wall_s` of `runs.csv`", "times in the manifest", "command line in"} {
		expect.That(t, strings.Contains(strings.Join(strings.Fields(beginning), " "), name),
			"docs/clusters.md does not say that %s may differ", name)
	}
}
