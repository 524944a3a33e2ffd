package formats

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// loadLIBSVM loads a file with rows.
func loadLIBSVM(t *testing.T, rows, target string) (*data.Set, error) {
	t.Helper()
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.Target = data.SourceLIBSVM, filetest.New(t, "my.txt", rows), target
	return data.Load(cfg)
}

// Values are dense here: the rows have few zeros.
func TestLIBSVMForms(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("+1 1:2\n-1 2:3\n")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, rows, target string
		names              []string
		x                  [][][]float64
		y                  [][]float64
		classes            []string
	}{
		{"one task", "# made\n+1 1:0.5 3:-2 # end\n\n-1 2:1e-3\t3:4\r\n", data.TargetClass, []string{"all"},
			[][][]float64{{{0.5, 0, -2}, {0, 1e-3, 4}}}, [][]float64{{1, -1}}, nil},
		{"qid", "2 qid:10 1:1 2:1\n3 qid:9 1:2\n1 qid:10 2:3\n", data.TargetClasses, []string{"9", "10"},
			[][][]float64{{{2, 0}}, {{1, 1}, {0, 3}}}, [][]float64{{2}, {1, 0}}, []string{"1", "2", "3"}},
		{"packed", packed.String(), data.TargetClass, []string{"all"}, [][][]float64{{{2, 0}, {0, 3}}},
			[][]float64{{1, -1}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := expect.Value(loadLIBSVM(t, test.rows, test.target))(t)
			checkTasks(t, set, test.names, test.x, test.y, test.classes)
		})
	}
}

// An error names the file and the line.
func TestLIBSVMErrors(t *testing.T) {
	for _, test := range []struct{ rows, want string }{
		{"", "my.txt: has no rows"},
		{"1\n-1\n", "my.txt: has no features"},
		{"1 1:1\n1:2 2:3\n", `my.txt:2: begins with "1:2": a row must begin with its label`},
		{"1 1:1\n1,2 2:3\n", `my.txt:2: the label "1,2" is a list`},
		{"1 1:1\nnan 2:3\n", `my.txt:2: the label "nan" is a missing value`},
		{"1 1:1\n2 0:3\n", `my.txt:2: the index is 0: indices must count from 1`},
		{"1 1:1\n2 -1:3\n", `my.txt:2: the index "-1" must be a whole number`},
		{"1 1:1\n2 x:3\n", `my.txt:2: the index "x" must be a whole number`},
		{"1 1:1\n2 999999999:3\n", `my.txt:2: the index 999999999 must be at most`},
		{"1 1:1\n2 2:1 2:3\n", `my.txt:2: the index 2 follows 2: indices must ascend`},
		{"1 1:1\n2 3\n", `my.txt:2: "3" must be index:value`},
		{"1 1:1\n2 3:inf\n", `my.txt:2: index 3: "inf" is not a finite number`},
		{"1 1:1\n2 qid:4 3:1\n", `my.txt:2: only some rows have qid`},
		{"1 qid: 1:1\n", `my.txt:1: the client's name is empty`},
		{"1 1:1\n1 1:2\n", "one class"},
	} {
		_, err := loadLIBSVM(t, test.rows, data.TargetClass)
		expect.That(t, err != nil && strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "\n"),
			"%q: %v, want %q", test.rows, err, test.want)
	}
}

func FuzzLIBSVM(f *testing.F) {
	for _, seed := range []string{
		"+1 1:0.5 3:-2 # end\n-1 2:1e-3\t3:4\r\n", "2 qid:10 1:1 2:1\n3 qid:9 1:2\n1 qid:10 268435456:3\n",
		"1 1:1\n2 0:3", "1 2:1 2:2", "1 1:nan", "# only", "", "1\n", "a b:c", "1 1:\n", "\ufeff1 1:1\n",
		"1_1 1:0x1p-2\n", "1 1:1\r2 1:2\r", "<NA> qid:None 1:1\n",
	} {
		f.Add([]byte(seed))
	}
	cfg := data.Defaults()
	cfg.Target = data.TargetClasses
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &libsvmReader{name: "in.txt", labels: cfg.NewLabels(), index: map[string]int{}}
		set, err := r.read(bytes.NewReader(text))
		if refused(t, err) {
			return
		}
		if set.Clients[0].X.Dense() {
			checkShape(t, set)
			return
		}
		for k := range set.Clients {
			x := &set.Clients[k].X
			if x.Cols != set.Features || len(x.Starts) != x.Rows+1 || len(set.Clients[k].Y) != x.Rows ||
				len(x.Indices) != len(x.Nonzeros) || x.Starts[x.Rows] != len(x.Nonzeros) {
				t.Fatalf("task %d has a wrong shape", k)
			}
			for i := range x.Rows {
				columns, values := x.Indices[x.Starts[i]:x.Starts[i+1]], x.Nonzeros[x.Starts[i]:x.Starts[i+1]]
				for n, j := range columns {
					expect.Must(t, int(j) < x.Cols && values[n] != 0 && (n == 0 || j > columns[n-1]),
						"task %d row %d: columns %v, values %v", k, i, columns, values)
				}
			}
		}
	})
}
