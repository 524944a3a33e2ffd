package scenarios

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "rewrite docs/reference/examples.md")

// intro begins docs/reference/examples.md.
const intro = `# Examples

The shipped scenarios. ` + "`fedsim run NAME`" + ` runs one, ` + "`fedsim scenarios show NAME`" + ` prints its text.
The numbers are of one version and of real data where a file is named; generated data replace a file that does not
exist, and the summary says so. "The NIPS 2017 paper" is [Federated Multi-Task Learning](../paper.md).

**Figures.** A line is the mean over the seeds, a step function from one measurement to the next; a band is their range.
Where a run ends, its line has a filled dot if the run reached ` + "`run.stop_at`" + `, an open circle if its budget was
spent, and a cross if it stalled. A line of several runs ends with the first that missed its target. A label below an
axis says where the axis cuts off values. "Relative units" are times of the paper's cost models
(` + "`federation.cost`" + `), not seconds.

**Numbers.** Errors are means over clients, unless a text says otherwise. Round brackets hold standard errors, square
ones 95 % intervals. Differences are paired, seed by seed.

## Ranks

` + "`ranks = true`" + ` in an experiment writes ` + "`tables/NAME-ranks.md`" +
	`, a csv and a LaTeX file. A rank is a range, as
far as it is certain. For each pair of methods, a paired t-test over the seeds compares their values. Splits divide the
same rows, so the variance of n differences is multiplied by 1/n + test rows/training rows in place of 1/n (Nadeau,
Bengio: Inference for the Generalization Error, Machine Learning 52, 2003). Holm's method (Scandinavian Journal of
Statistics 6, 1979) corrects for the number of pairs, at 5 %. A rank is at least one more than the number of methods that
are certainly better, and at most the number of those that are not certainly worse. So all ranges of a column hold at
once (Mogstad, Romano, Shaikh, Wilhelm: Inference for Ranks, Review of Economic Studies 91, 2024).

A run that does not reach a target counts with its cost at the end: others can be certainly better than it, and it is
never better than others. The table shows a bound of the mean and the number of runs that reached the target:
` + "`> 11 min (1 of 5)`" + `. The test takes differences for normal. Splits differ in their rows alone: ranks hold for
these devices and this availability.
`

// header returns the paragraphs of the comment at the beginning of a scenario.
func header(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		b.WriteString(strings.TrimPrefix(text, " "))
	}
	return b.String()
}

// owner returns the scenario of a table: the longest name with which its own begins.
func owner(table string) string {
	found := ""
	for _, name := range Names() {
		if (table == name || strings.HasPrefix(table, name+"-")) && len(name) > len(found) {
			found = name
		}
	}
	return found
}

// docs/reference/examples.md has the headers of all scenarios, each of at most 150 words, with a figure
// and tables where there are some.
func TestExamplesPage(t *testing.T) {
	page := intro
	tables, err := filepath.Glob("tables/*.csv")
	expect.Must(t, err == nil && len(tables) != 0, "there are no tables (%v)", err)
	for _, table := range tables {
		expect.That(t, owner(strings.TrimSuffix(filepath.Base(table), ".csv")) != "",
			"%s belongs to no scenario", table)
	}
	for _, info := range Shipped() {
		source, _ := Source(info.Name)
		text := header(string(source))
		if words := len(strings.Fields(text)); words < 10 || words > 150 {
			t.Errorf("the header of %s%s has %d words, want 10 to 150", info.Name, Extension, words)
		}
		page += "\n## " + info.Name + "\n\n" + columns.Wrap(info.Description+".", 118, 0) + "\n\n" + text
		if _, err := os.Stat("../docs/images/" + info.Name + ".png"); err == nil {
			page += fmt.Sprintf("\n![Figure of %s](../images/%s.png)\n", info.Name, info.Name)
		}
		var links []string
		for _, table := range tables {
			if name := strings.TrimSuffix(filepath.Base(table), ".csv"); owner(name) == info.Name {
				links = append(links, fmt.Sprintf("[%s](../../scenarios/%s)", name, table))
			}
		}
		if links != nil {
			page += "\nTables: " + strings.Join(links, ",\n") + "\n"
		}
	}
	const path = "../docs/reference/examples.md"
	if *update {
		filetest.Write(t, path, page)
	}
	expect.That(t, string(filetest.Read(t, path)) == page,
		"%s is out of date: go test ./scenarios -run ExamplesPage -update", path)
}
