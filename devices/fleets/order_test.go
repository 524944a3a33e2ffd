package fleets

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

// shared returns a fleet of classes with these shares.
func shared(shares ...float64) *Fleet {
	f := &Fleet{}
	for _, s := range shares {
		f.Classes = append(f.Classes, Class{Share: s, Device: "phone-2017", Link: "lte"})
	}
	return f
}

// Among all devices, and among whole blocks, a class has its share, rounded down or up.
// The order of more devices begins with the whole blocks of fewer.
func TestSharesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 1000), 1, 12).Draw(t, "weights")
		sum := 0
		for _, w := range weights {
			sum += w
		}
		var shares []float64
		for _, w := range weights {
			shares = append(shares, float64(w)/float64(sum))
		}
		f, seed := shared(shares...), rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		order, parts := f.order(n, seed), f.parts()
		counts := make([]int64, len(shares))
		for i, k := range order {
			counts[k]++
			m := int64(i + 1)
			if m%block != 0 && i != n-1 {
				continue
			}
			for k, have := range counts {
				low, high := m*parts[k]/whole, (m*parts[k]+whole-1)/whole
				expect.Must(t, have >= low && have <= high,
					"of %d devices %d are of class %d, must be %d or %d", m, have, k, low, high)
			}
		}
		few := rapid.IntRange(1, n).Draw(t, "few")
		same := few - few%block
		expect.Must(t, slices.Equal(f.order(few, seed)[:same], order[:same]),
			"the first %d of %d devices are others than of %d", same, few, n)
	})
}

// Seven of ten devices belong to a class with the share 0.7, whatever its binary digits.
func TestDecimalSharesAreExact(t *testing.T) {
	for n := 10; n <= 100; n += 10 {
		counts := make([]int, 3)
		for _, k := range shared(0.1, 0.2, 0.7).order(n, 1) {
			counts[k]++
		}
		want := []int{n / 10, n / 5, 7 * n / 10}
		expect.That(t, slices.Equal(counts, want), "of %d devices %v are of each class, must be %v", n, counts, want)
	}
}

// Cells may take every tenth device. In the fair order some cells would have no device
// of a class. Here the number in a cell is within five standard deviations of a binomial
// number, which spreads more.
func TestOrderHasNoPeriod(t *testing.T) {
	const n = 20_000
	for _, shares := range [][]float64{{0.5, 0.5}, {0.3, 0.7}, {0.1, 0.2, 0.7}, {0.2, 0.2, 0.2, 0.2, 0.2}} {
		order := shared(shares...).order(n, 3)
		for _, cells := range []int{2, 5, 10} {
			for c := range cells {
				counts := make([]float64, len(shares))
				for m := c; m < n; m += cells {
					counts[order[m]]++
				}
				for k, share := range shares {
					size := float64(n / cells)
					if math.Abs(counts[k]-share*size) > 5*math.Sqrt(size*share*(1-share)) {
						t.Errorf("shares %v: %g of %g devices of cell %d of %d are of class %d", shares, counts[k],
							size, c, cells, k)
					}
				}
			}
		}
		other := shared(shares...).order(n, 4)
		expect.That(t, !slices.Equal(order, other), "shares %v: two seeds give the same order", shares)
	}
}

// Devices take the classes of an assignment in turn, for every number of devices and seed.
func TestAssignmentInTurn(t *testing.T) {
	cfg := Defaults()
	cfg.Name, cfg.Assignment = "phones-2017", []string{"low-3g", "high-wifi", "high-wifi"}
	c := config.NewChecker()
	cfg.Validate(c)
	if problems := c.Problems(); len(problems) > 0 {
		t.Fatal(problems)
	}
	f := cfg.Fleet()
	for n := range 8 {
		machines, links := f.Assemble(n, nil, uint64(n))
		if want := []uint8{0, 4, 4, 0, 4, 4, 0}[:n]; !slices.Equal(machines.Class, want) ||
			!slices.Equal(links.Class, want) {
			t.Errorf("%d devices have classes %v", n, machines.Class)
		}
	}
	for _, wrong := range []struct {
		name, class, want string
	}{
		{"phones-2017", "old", `assignment[0] = "old": must be one of low-3g, low-lte`},
		{"", "low-3g", "requires a fleet"},
	} {
		cfg, c := Defaults(), config.NewChecker()
		cfg.Name, cfg.Assignment = wrong.name, []string{wrong.class}
		cfg.Validate(c)
		if problems := c.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Error(), wrong.want) {
			t.Errorf("%v, want %s", problems, wrong.want)
		}
	}
}
