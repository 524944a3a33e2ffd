package data

import (
	"bytes"
	"compress/gzip"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

const patients = `patient,site,outcome,age,"height, cm",pulse_1,pulse_2,comment
p1,north,recovered,34,171.5,61,63,"said ""fine"""
p2,north,died,71,,88,NA,
p3,south,recovered,?,166,70,71,ok
p4,south,unknown,52,180.25,null,66,ok
p5,north,,45,174,64,65,ok
p6,east,died,80,158.5,95,97,"two
lines"
p7,east,recovered,1e1,150,72.5,-0,ok
p8,,recovered,33,169,60,61,ok
p9,south,died,n/a,nan,90,91,ok
p10,north,recovered,29,181,58,59,ok
p11,south,recovered,38,NaN,62,60,ok
p12,east,unknown,41,177,66,64,ok
`

// The numbers are those of pandas 3.1.1: read_csv(na_values=["?"]), dropna or
// fillna(mean), astype("category").cat.codes, sum.
func TestTablesAsPandas(t *testing.T) {
	without := func(text string, patients ...string) string {
		for _, p := range patients {
			from := strings.Index(text, "\n"+p+",") + 1
			text = text[:from] + text[from+strings.Index(text[from:], "\n")+1:]
		}
		return text
	}
	for _, c := range []struct {
		name, text string
		change     func(*Config)
		tasks      []string
		classes    []string
		codes      []float64 // in task order
		sums       []float64 // by feature
		missing    Missing
	}{
		{
			name: "drop.csv", text: patients,
			change: func(c *Config) { c.DropColumns, c.Missing = NamesOf("patient", "comment"), MissingDrop },
			tasks:  []string{"north", "east"}, classes: []string{"died", "recovered", "unknown"},
			codes: []float64{1, 1, 0, 1, 2}, sums: []float64{194, 838, 352.5, 283},
			missing: Missing{Rows: 7, Values: 9, Dropped: true},
		},
		{
			name: "mean.csv.gz", text: without(patients, "p5", "p8"),
			change: func(c *Config) { c.Columns, c.Missing = NamesOf("age", "height*", "pulse_*"), MissingMean },
			tasks:  []string{"north", "south", "east"}, classes: []string{"died", "recovered", "unknown"},
			codes:   []float64{1, 0, 1, 1, 2, 0, 1, 0, 1, 2},
			sums:    []float64{443.75, 1691.7857142857142, 736.1111111111111, 634.4444444444445},
			missing: Missing{Rows: 5, Values: 7},
		},
		{
			name: "numbers.tsv", text: "grade\tx\ty\n3\t0.1\t1e-3\n1.0\t2\t.5\n10\t-3\t+4\n2\t4\t5\n3.00\t5\t6\n",
			change: func(c *Config) { c.LabelColumn, c.ClientColumn = "grade", "" },
			tasks:  []string{"all"}, classes: []string{"1", "2", "3", "10"},
			codes: []float64{2, 0, 3, 1, 2}, sums: []float64{8.1, 15.501000000000001},
		},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		content := []byte(c.text)
		if strings.HasSuffix(c.name, ".gz") {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			expect.Value(w.Write(content))(t)
			expect.NoError(t, w.Close())
			content = packed.Bytes()
		}
		filetest.Write(t, path, content)
		cfg := Defaults()
		cfg.Source, cfg.Path, cfg.Target, cfg.TestFraction = SourceCSV, path, TargetClasses, 0
		cfg.ClientColumn, cfg.LabelColumn = "site", "outcome"
		c.change(&cfg)
		split, err := Prepare(cfg)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		set := split.Train
		var tasks []string
		var codes []float64
		for k := range set.Clients {
			tasks, codes = append(tasks, set.Clients[k].Name), append(codes, set.Clients[k].Y...)
		}
		sums := make([]float64, set.Features)
		set.eachRow(func(x []float64) {
			for j, v := range x {
				sums[j] += v
			}
		})
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-13*math.Abs(b) })
		for _, diff := range []string{
			cmp.Diff(c.tasks, tasks), cmp.Diff(c.classes, set.Classes), cmp.Diff(c.codes, codes),
			cmp.Diff(c.sums, sums, near), cmp.Diff(c.missing, set.Missing, cmpopts.IgnoreFields(Missing{}, "Columns")),
		} {
			expect.That(t, diff == "", "%s: %s", c.name, diff)
		}
		want, _, _ := strings.Cut(c.name, ".")
		expect.That(t, set.Name == want, "the set is named %q, want %q", set.Name, want)
	}
}

// Numbers are one class however they are written, and text makes all labels text.
func TestLabels(t *testing.T) {
	for labels, want := range map[string]string{
		"2 10 +2.0 1e1 2": "2 10", "-0 0 1": "0 1", "b a 10 9": "10 9 a b", "true false": "false true",
		"inf 1": "1 inf",
	} {
		text := "client,label,x\n"
		for _, label := range strings.Fields(labels) {
			text += "1," + label + ",0\n"
		}
		set := parsedCSV(t, text, func(c *Config) { c.Target = TargetClasses })
		got := strings.Join(set.Classes, " ")
		expect.That(t, got == want, "the labels %s have the classes %s, want %s", labels, got, want)
	}
	cfg := Defaults()
	l := cfg.NewLabels()
	for i, value := range []float64{7, -1, 7, math.NaN(), -1} {
		y, problem := l.number(value)
		want := []float64{0, 1, 0, math.NaN(), 1}[i]
		expect.That(t, problem == "" && (y == want || math.IsNaN(want)), "number %g is class %g %s", value, y, problem)
	}
	if _, problem := l.number(3); !strings.Contains(problem, "third class") {
		t.Errorf("problem %q", problem)
	}
	expect.That(t, len(l.numbered) == 2, "%d numbers are known", len(l.numbered))
}

func TestPackedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv.gz")
	for _, text := range []string{"\x1f\x8b", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x02"} {
		filetest.Write(t, path, text)
		cfg := Defaults()
		cfg.Source, cfg.Path = SourceCSV, path
		_, err := Load(cfg)
		expect.That(t, err != nil && strings.Contains(err.Error(), path), "got %v", err)
	}
}
