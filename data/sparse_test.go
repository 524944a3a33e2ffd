package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// sparseTwins returns a sparse set of two tasks and the equal dense one.
func sparseTwins(t testing.TB) (sparse, dense *Set) {
	t.Helper()
	const features, rows, values = 60, 40, 4
	draw := rng.New(3, rng.Share, 0, 0)
	sparse = &Set{Name: "sparse", Clients: []Client{{Name: "0", X: NewSparse(0)}, {Name: "1", X: NewSparse(0)}}}
	for i := range rows {
		var columns []int32
		for range values {
			columns = append(columns, int32(draw.Float64()*features))
		}
		if i == 0 {
			columns = append(columns, features-1)
		}
		slices.Sort(columns)
		columns = slices.Compact(columns)
		x := make([]float64, len(columns))
		for k := range x {
			x[k] = draw.Float64() - 0.5
		}
		c := &sparse.Clients[i%2]
		c.X.AppendRow(columns, x)
		c.Y = append(c.Y, float64(1-2*(i/2%2)))
	}
	sparse.Settle(features)
	expect.Must(t, sparse.sparse(), "the set is dense")
	return sparse, densified(sparse)
}

// densified returns a dense copy.
func densified(set *Set) *Set {
	dense := *set
	dense.Clients = slices.Clone(set.Clients)
	for t := range dense.Clients {
		x := &set.Clients[t].X
		twin := NewMatrix(x.Rows, x.Cols)
		for i := range x.Rows {
			copy(twin.Row(i), x.Values(i, make([]float64, x.Cols)))
		}
		dense.Clients[t].X = twin
	}
	return &dense
}

// Features of sparse rows are described from their values alone.
func TestDescribeSparse(t *testing.T) {
	for _, bias := range []bool{false, true} {
		set, _ := sparseTwins(t)
		if bias {
			_ = (&Config{Bias: true}).transform(set, nil)
		}
		diff := cmp.Diff(Describe(densified(set)), Describe(set))
		expect.That(t, diff == "", "%v", diff)
	}
	rows := NewSparse(3)
	rows.AppendRow([]int32{0, 2}, []float64{1, 2})
	rows.AppendRow([]int32{0, 1, 2}, []float64{1, 5, 3})
	if d := Describe(&Set{Features: 3, Clients: []Client{{X: rows, Y: []float64{-1, 1}}}}); d.ConstantFeatures != 1 ||
		d.ZeroFeatures != 0 {
		t.Errorf("%+v", d)
	}
}

// A sparse set stays sparse in all that prepares it, and has the values of its dense twin.
func TestSparseLikeDense(t *testing.T) {
	cfg := Defaults()
	cfg.Bias, cfg.Skew, cfg.ClientsPerTask = true, 3, 2
	sparse, dense := sparseTwins(t)
	prepare := func(set *Set) *Split {
		t.Helper()
		split, err := cfg.Divide(set, 5)
		expect.NoError(t, err)
		expect.NoError(t, cfg.Transform(split))
		if split.Train, err = Share(split.Train, 2, 5); err != nil {
			t.Fatal(err)
		}
		return split
	}
	got, want := prepare(sparse), prepare(dense)
	for _, pair := range [][2]*Set{{got.Train, want.Train}, {got.Test, want.Test}, {Pool(got.Train), Pool(want.Train)},
		{Merge(got.Train), Merge(want.Train)}} {
		expect.Must(t, pair[0].sparse() && !pair[1].sparse() && pair[0].Features == 61,
			"the rows did not stay sparse, or dense")
		requireSameBits(t, pair[1], densified(pair[0]))
		diff := cmp.Diff(Describe(pair[1]).String(), Describe(pair[0]).String())
		expect.That(t, diff == "", "%v", diff)
	}
	files := [2]map[string]string{{}, {}}
	for k, split := range []*Split{got, want} {
		expect.NoError(t, Export(split, func(name string, fill func(io.Writer) error) error {
			var out bytes.Buffer
			err := fill(&out)
			files[k][name] = out.String()
			return err
		}))
		delete(files[k], "data.json") // with the digest, which differs
	}
	if diff := cmp.Diff(files[1], files[0]); diff != "" {
		t.Error(diff)
	}
	expect.That(t, got.Digest() == prepare(sparse).Digest() && got.Digest() != want.Digest(),
		"the digest of sparse rows is not of them alone")
	x := &got.Train.Clients[0].X
	x.Nonzeros[0]++
	changed := got.Digest()
	expect.That(t, changed != prepare(sparse).Digest(), "the digest does not depend on a value")
	x.Nonzeros[0]--
	x.Indices[0]--
	changed = got.Digest()
	expect.That(t, changed != prepare(sparse).Digest(), "the digest does not depend on a column")
}

func TestSparseRefusals(t *testing.T) {
	for _, test := range []struct {
		key    string
		change func(*Config)
	}{
		{"data.standardize", func(c *Config) { c.Standardize = true }},
		{"data.precision", func(c *Config) { c.Precision = PrecisionSingle }},
	} {
		cfg := Defaults()
		test.change(&cfg)
		sparse, _ := sparseTwins(t)
		split := expect.Value(cfg.Divide(sparse, 1))(t)
		problem, ok := errors.AsType[config.Problem](cfg.Transform(split))
		expect.That(t, ok && problem.Key == test.key, "%v, want a problem of %s", problem, test.key)
	}
}

// BenchmarkSparse measures a step, an axpy and a dot product, on rows of a density. The
// ratio of both times is 1 at about sparseBelow.
func BenchmarkSparse(b *testing.B) {
	for _, features := range []int{1000, 20000} {
		for _, density := range []float64{0.02, 0.05, 0.1, 0.2, 0.3} {
			const rows = 64
			draw := rng.New(1, rng.Share, 0, 0)
			sparse, dense := NewSparse(features), NewMatrix(rows, features)
			for i := range rows {
				var columns []int32
				var values []float64
				for j := range features {
					if draw.Float64() < density {
						columns, values = append(columns, int32(j)), append(values, draw.Float64())
						dense.Row(i)[j] = values[len(values)-1]
					}
				}
				sparse.AppendRow(columns, values)
			}
			u := make([]float64, features)
			for _, m := range []struct {
				name string
				*Matrix
			}{{"sparse", &sparse}, {"dense", &dense}} {
				b.Run(fmt.Sprintf("features=%d/density=%g/%s", features, density, m.name), func(b *testing.B) {
					i, near := 0, 1
					for b.Loop() {
						z := m.Step(1e-9, i, u, near, near, -1)
						i, near = near, (near+1+int(z)&1)%rows
					}
				})
			}
		}
	}
}
