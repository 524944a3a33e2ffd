package mtl

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// For Omega from a file, the identity gives M = I/(2(l1+l2)). The centering matrix gives the
// same coupling as the default and as the clusters.
func TestMeanWithKnownOmega(t *testing.T) {
	const l1, l2 = 0.3, 0.2
	written := func(omega *mat.SymDense) string {
		path := filepath.Join(t.TempDir(), "omega.csv")
		var text strings.Builder
		for s := range omega.SymmetricDim() {
			for u := range omega.SymmetricDim() {
				if u > 0 {
					text.WriteString(", ")
				}
				fmt.Fprintf(&text, "%.9g", omega.At(s, u)) // as a spreadsheet rounds
			}
			text.WriteString("\n")
		}
		filetest.Write(t, path, text.String())
		return path
	}
	split := randomSplit(5, 3, 6, 6, 6)
	centering := func(c []int) *mat.SymDense {
		size := map[int]int{}
		for _, x := range c {
			size[x]++
		}
		return symmetric(len(c), func(s, u int) float64 {
			if c[s] != c[u] {
				return 0
			}
			return delta(s, u) - 1/float64(size[c[s]])
		})
	}
	cfg := Defaults()
	cfg.Regularizer, cfg.Lambda1, cfg.Lambda2 = RegMean, l1, l2
	of := func(change func(*Config)) *mat.SymDense {
		t.Helper()
		c := cfg
		change(&c)
		return matrixOf(mustStart(t, mustProblem(t, c, split)))
	}
	for _, test := range []struct {
		name      string
		got, want *mat.SymDense
	}{
		{"the identity", of(func(c *Config) { c.OmegaFile = written(symmetric(3, delta)) }),
			symmetric(3, func(s, u int) float64 { return delta(s, u) / (2 * (l1 + l2)) })},
		{"zero", of(func(c *Config) { c.OmegaFile = written(mat.NewSymDense(3, nil)) }),
			symmetric(3, func(s, u int) float64 { return delta(s, u) / (2 * l2) })},
		{"one cluster by file", of(func(c *Config) { c.OmegaFile = written(centering([]int{0, 0, 0})) }),
			of(func(*Config) {})},
		{"one cluster by name", of(func(c *Config) { c.Clusters = "7,7,7" }), of(func(*Config) {})},
		{"two clusters", of(func(c *Config) { c.OmegaFile = written(centering([]int{0, 1, 0})) }),
			of(func(c *Config) { c.Clusters = " 3, 1 ,3" })},
		{"each its own", of(func(c *Config) { c.Clusters = "0,1,2" }),
			symmetric(3, func(s, u int) float64 { return delta(s, u) / (2 * l2) })}, // (1 - 1)^2 = 0
	} {
		for s := range 3 {
			for u := range 3 {
				expect.That(t, near(test.got.At(s, u), test.want.At(s, u), 1e-8),
					"%s: M[%d][%d] = %.10g, want %.10g", test.name, s, u, test.got.At(s, u), test.want.At(s, u))
			}
		}
	}
}

// An error may continue where its text ends in "…".
func TestOmegaFileFaults(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no number", "1,0\n0,one\n", `omega.csv:2:3: "one" must be a number of at most 1e100 in size`},
		{"not finite", "1,NaN\n0,1\n", `omega.csv:1:3: "NaN" …`},
		{"too large", "1e101,0\n0,1\n", `omega.csv:1:1: "1e101" …`},
		{"short row", "1,0\n0\n", "omega.csv:2: the row has 1 numbers: it must have one for each of the 2 tasks"},
		{"long row", "1,0,0\n0,1\n", "omega.csv:1: the row has 3 numbers: …"},
		{"few rows", "1,0\n", "omega.csv: omega has 1 rows: it must have one for each of the 2 tasks"},
		{"many rows", "1,0\n0,1\n0,0\n", "omega.csv:3: omega has more than 2 rows: it must have one for each task"},
		{"empty", "", "omega.csv: omega has 0 rows: …"},
		{"not symmetric", "1,0.5\n\n0.4,1\n",
			"omega.csv:3:1: omega must be symmetric: this is 0.4, and 0.5 in row 1, column 2"},
		{"indefinite", "1,2\n2,1\n", "omega.csv: omega has the eigenvalue -1: it must be positive semidefinite"},
		{"quotes", "1,\"0\n0,1\n",
			`omega.csv:2:5: not comma-separated values: extraneous or missing " in quoted-field`},
	} {
		_, err := parseOmega(strings.NewReader(test.text), "omega.csv", 2)
		var parse *data.ParseError
		if part, cut := strings.CutSuffix(test.want, "…"); !errors.As(err, &parse) ||
			!strings.HasPrefix(err.Error(), part) || !cut && err.Error() != part {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	path := filepath.Join(t.TempDir(), "omega.csv")
	filetest.Write(t, path, "\ufeff2, 1\r\n1 ,2\r\n")
	if omega, err := readOmega(path, 2); err != nil || omega.At(0, 0) != 2 || omega.At(0, 1) != 1 {
		t.Errorf("a spreadsheet's file: %v", err)
	}
	if _, err := readOmega(filepath.Join(t.TempDir(), "absent.csv"), 2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

// No file makes the parser panic, and every accepted file gives a coupling.
func FuzzOmegaFile(f *testing.F) {
	for _, seed := range []string{"", "1,0\n0,1\n", "1,2\n2,4", "1e100,-1e100\n-1e100,1e100\n", "0,0\n0,0\n",
		"\"1\",0\r\n0,1e-300\r\n", "1,-2e-7\n0,0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		omega, err := parseOmega(strings.NewReader(text), "omega.csv", 2)
		if err != nil {
			return
		}
		for i := range 2 {
			for j := range 2 {
				expect.Must(t, omega.At(i, j) == omega.At(j, i) && !math.IsNaN(omega.At(i, j)),
					"%q: Omega[%d][%d] = %g", text, i, j, omega.At(i, j))
			}
		}
		if math.Max(math.Abs(omega.At(0, 0)), math.Abs(omega.At(1, 1))) > 1e6 {
			return // too far from lambda_2 for a coupling in double precision
		}
		if _, err := (MeanRegularized{Lambda1: 1, Lambda2: 1, Omega: omega}).Start(testPool, 2); err != nil {
			t.Fatalf("%q was taken, but: %v", text, err)
		}
	})
}

// What does not go with the number of tasks, or is no Omega, is refused where
// the tasks are known, by the name of the key.
func TestRegularizersRejectWrongSizes(t *testing.T) {
	split := randomSplit(5, 3, 6, 6, 6)
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Regularizer, c.ClusterCount = RegClustered, 3 },
			"problem.regularizer_options.cluster_count = 3: must be below the number of tasks, which is 3"},
		{func(c *Config) { c.Regularizer, c.Clusters = RegMean, "0,1" },
			`problem.regularizer_options.clusters = "0,1": must have a number for each of the 3 tasks: it has 2`},
	} {
		cfg := Defaults()
		test.change(&cfg)
		_, err := NewProblem(cfg, split)
		var problem config.Problem
		expect.That(t, errors.As(err, &problem) && err.Error() == test.want, "%v, want %s", err, test.want)
	}
	for _, r := range []MeanRegularized{
		{Lambda1: 1, Lambda2: 1, Clusters: []int{0, 1}},
		{Lambda1: 1, Lambda2: 1, Omega: mat.NewSymDense(2, nil)},
		{Lambda1: 1, Lambda2: 1, Omega: mat.NewSymDense(3, []float64{1, 2, 0, 2, 1, 0, 0, 0, 1})},
	} {
		_, err := r.Start(testPool, 3)
		expect.That(t, err != nil, "%+v was taken for 3 tasks", r)
	}
}

func TestRegularizerConfig(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   string // empty: valid
	}{
		{"defaults", func(*Config) {}, ""},
		{"unknown", func(c *Config) { c.Regularizer = "cluster" },
			`regularizer = "cluster": must be one of independent, mean, clustered, probabilistic, ` +
				`graphical (did you mean "clustered"?)`},
		{"graphical without l1 and l2", func(c *Config) { c.Regularizer, c.Lambda1, c.Lambda2 = RegGraphical, 0, 0 },
			""},
		{"mean without lambda1", func(c *Config) { c.Regularizer, c.Lambda1 = RegMean, 0 },
			"lambda1 = 0: must be in [1e-12, 1e12]"},
		{"negative l2", func(c *Config) { c.Regularizer, c.Lambda2 = RegGraphical, -1 },
			"lambda2 = -1: must be in [0, 1e12]"},
		{"graphical with sigma under the default convention",
			func(c *Config) { c.Regularizer, c.PriorPrecision = RegGraphical, 2 }, ""},
		{"probabilistic with sigma under the authors' convention", func(c *Config) { c.PriorPrecision = 2 },
			`prior_precision = 2: must be 0 for "probabilistic" under convention "authors", which has no such term`},
		{"eta", func(c *Config) { c.Eta = 0 }, "eta = 0: must be in [1e-12, 1e12]"},
		{"eta of another", func(c *Config) { c.Eta = 0.2 },
			`eta = 0.2: must be left out: it is of regularizer clustered, not of "probabilistic"`},
		{"annealed without a coupling that is learned",
			func(c *Config) { c.Regularizer, c.OmegaUpdate = RegIndependent, UpdateAnnealed },
			`omega_update = "annealed": must be left out: it is of regularizer clustered, probabilistic, graphical, ` +
				`not of "independent"`},
		{"cluster count", func(c *Config) { c.ClusterCount = 0 }, "cluster_count = 0: must be in (0, 1e6]"},
		{"clusters", func(c *Config) { c.Clusters = "0,x" },
			`clusters = "0,x": must be whole numbers with commas between them, one for each task: ` +
				`the cluster of task 2 is "x"`},
		{"negative cluster", func(c *Config) { c.Clusters = "-1,0" },
			`clusters = "-1,0": must be whole numbers with commas between them, one for each task: ` +
				`the cluster of task 1 is "-1"`},
		{"two Omegas", func(c *Config) { c.Clusters, c.OmegaFile = "0", "x.csv" },
			`omega_file = "x.csv": must be empty when clusters are given: they are another Omega`},
		{"warm clustered", func(c *Config) { c.Regularizer, c.WarmOmega = RegClustered, 1 }, ""},
		{"warm graphical", func(c *Config) { c.Regularizer, c.WarmOmega = RegGraphical, 1 }, ""},
		{"warm mean", func(c *Config) { c.Regularizer, c.WarmOmega = RegMean, 1 },
			`warm_start = 1: must be 0: regularizer "mean" does not learn its coupling`},
	} {
		cfg := Defaults()
		test.change(&cfg)
		c := config.NewChecker()
		cfg.Validate(c)
		got := fmt.Sprint(c.Problems())
		if test.want != "" && !strings.HasPrefix(test.want, "regularizer = ") {
			test.want = "regularizer_options." + test.want
		}
		expect.That(t, got == "["+test.want+"]", "%s: %s, want %s", test.name, got, test.want)
	}
}
