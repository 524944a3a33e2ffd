package command

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/scenarios"
)

var (
	base = flag.String("base", "",
		"an earlier binary of fedsim, whose results TestSame compares with those of this tree")
	sameScenarios = flag.String("same-scenarios", "",
		"scenarios of TestSame, separated by commas or spaces; empty: all shipped scenarios")
)

// TestSame runs the shipped scenarios, shortened, with an earlier binary and with this tree.
// Hashes, tables of all kinds, models, vector figures, the data of the page's charts and the JSON of
// commands must be equal. Each binary exports its own tables, so that file formats may differ; this
// tree may add columns, fields, tables and figures.
func TestSame(t *testing.T) {
	if *base == "" {
		t.Skip("make same BASE=PROGRAM runs this test")
	}
	earlier := expect.Value(filepath.Abs(*base))(t)
	dir := t.TempDir()
	programs := []string{earlier, "fedsim"}
	wanted := strings.FieldsFunc(*sameScenarios, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range wanted {
		if !slices.Contains(scenarios.Names(), name) {
			t.Errorf("no shipped scenario is named %q", name)
		}
	}
	for _, info := range scenarios.Shipped() {
		if wanted != nil && !slices.Contains(wanted, info.Name) {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			sets := shortForms[info.Name]
			if sets == nil {
				sets = append(slices.Clone(platformCuts[info.Name]), "run.seeds=[1]")
			}
			sets = append(slices.Clone(sets), recorded(info.Name)...)
			var found [2]map[string]string
			for i, program := range programs {
				made := filepath.Join(dir, fmt.Sprint(info.Name, "-", i))
				arguments := []string{"run", info.Name, "--json", "--progress", "none", "--out", made}
				for _, set := range namedFor(program, info.Name, sets) {
					arguments = append(arguments, "--set", set)
				}
				summary, err := exec.Command(program, arguments...).Output()
				expect.Must(t, err == nil, "%s %v: %v", program, arguments, err)
				if found[i], err = contentOf(program, made); err != nil {
					t.Fatal(err)
				}
				expect.NoError(t, commandsInto(found[i], program, made, summary))
				os.RemoveAll(made)
			}
			for _, name := range slices.Sorted(maps.Keys(found[0])) {
				if want, got := found[0][name], found[1][name]; got != want {
					row := 0
					for wants, gots := strings.Split(want, "\n"),
						strings.Split(got, "\n"); row < min(len(wants), len(gots))-1 && wants[row] == gots[row]; row++ {
					}
					t.Errorf("%s differs from line %d on", name, row+1)
				}
			}
		})
	}
}

// namedFor returns overrides by the names that their keys have in a program: their own, or the former ones if
// the program is older than the renamed keys and does not know them.
func namedFor(program, name string, sets []string) []string {
	named := slices.Clone(sets)
	for _, k := range scenario.RetiredKeys() {
		for i, set := range named {
			former := strings.Replace(set, k.New, k.Old, 1)
			if k.New == "" || !strings.HasPrefix(set, k.New+"=") && !strings.Contains(set, `"`+k.New+`"=`) {
				continue
			}
			// refused
			out, _ := exec.Command(program, "run", name, "--set", k.New+"=0", "--set", "run.rounds=-1").CombinedOutput()
			if strings.Contains(string(out), "unknown key ") {
				named[i] = former
			}
		}
	}
	return named
}

// recorded returns the settings that make a scenario record all that it can.
func recorded(name string) []string {
	switch name {
	case "at-scale": // a lazy population
		return nil
	case "million-events": // in timing mode
		return []string{"run.devices=true"}
	case "asynchrony", "fedbuff", "leaderboard-small", "quickstart", "quickstart-small",
		"ringmaster": // theta is defined for rounds
		return []string{"run.save_model=true", "run.devices=true"}
	default:
		return []string{"run.save_model=true", "run.devices=true", "run.theta_every=2"}
	}
}

// contentOf returns what two versions must have in common: the hashes, each column of the
// tables but wall time, the models and the vector figures. The program exports the tables.
func contentOf(program, dir string) (map[string]string, error) {
	// Not rundir.Read, which reads the formats of this tree only.
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Runs []struct {
			ID        string `json:"id"`
			EventHash string `json:"event_hash"`
			ModelHash string `json:"model_hash"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, r := range manifest.Runs {
		found["hashes of "+r.ID] = fmt.Sprintf("events %s, model %s", r.EventHash, r.ModelHash)
	}
	for _, table := range []string{"rounds", "runs", "devices", "client_values", "clients", "metrics"} {
		out, err := exec.Command(program, "export", dir, table).Output()
		if err != nil {
			continue // the run has no such table
		}
		if err := columnsInto(found, table, string(out)); err != nil {
			return nil, err
		}
	}
	for _, pattern := range []string{"tables/*.csv", "models/*", "figures/*.svg"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if filepath.Ext(file) == ".csv" {
				err = columnsInto(found, filepath.Base(file), string(text))
			} else {
				found[filepath.Base(file)] = claimOf.ReplaceAllString(string(text), "") // of keys that may be renamed
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

var claimOf = regexp.MustCompile(`<metadata>.*</metadata>`)

// commandsInto adds what commands say of a run directory as JSON, and the data of the report's charts: for each
// field its values in their order, but those of wall time and versions.
func commandsInto(found map[string]string, program, dir string, summary []byte) error {
	page, again := filepath.Join(dir, "page.html"), dir+"-again"
	if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
		return err
	}
	defer os.RemoveAll(again)
	outputs := map[string][]byte{"summary": summary}
	for name, arguments := range map[string][]string{
		"explain": {"explain", dir, "--json"},        // refused without rows by device
		"compare": {"compare", dir, again, "--json"}, // refused where runs have no times
		"charts":  {"report", dir, "--out", page},
	} {
		out, err := exec.Command(program, arguments...).Output()
		if err != nil {
			found[name] = "refused"
			continue
		}
		outputs[name] = out
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(text), `<script type="application/json" id="data">`)
	data, _, _ := strings.Cut(after, "</script>")
	outputs["charts"] = []byte(data)
	for name, out := range outputs {
		var value any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(out), dir, "DIR")), &value); err != nil {
			return fmt.Errorf("%s of %s: %w", name, dir, err)
		}
		fieldsInto(found, name, value)
	}
	return os.Remove(page)
}

// volatile are fields of JSON that differ between programs and runs; made has speed and memory.
var volatile = regexp.MustCompile(`wall|version|started|finished|platform|^(made|go|host|command)$`)

// fieldsInto appends the values of JSON, a text for each field, whatever the places in lists.
func fieldsInto(found map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !volatile.MatchString(name) {
				fieldsInto(found, path+"."+name, v[name])
			}
		}
	case []any:
		found[path+" lengths"] += fmt.Sprintln(len(v))
		for _, item := range v {
			fieldsInto(found, path, item)
		}
	default:
		found[path] += fmt.Sprintln(v)
	}
}

// columnsInto adds the columns of a table in csv but those of wall time, one text each.
func columnsInto(found map[string]string, name, text string) error {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		return err
	}
	for c, head := range records[0] {
		if strings.Contains(head, "wall") {
			continue
		}
		var values []string
		for _, record := range records[1:] {
			values = append(values, record[c])
		}
		// a version may leave out what no run has
		if text := strings.Join(values, "\n"); strings.Trim(text, "\n") != "" {
			found[name+": "+head] = text
		}
	}
	return nil
}
