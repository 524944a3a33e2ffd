package data

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

// Changing any value changes the digest; equal values have equal digests.
func TestDigestDistinguishesSets(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.Factors = 3, 4, 2
	digest := func(change func(*Set)) uint64 {
		set := loaded(t, cfg)
		change(set)
		return set.Digest()
	}
	same := func(*Set) {}
	seen := map[uint64]string{digest(same): "nothing"}
	if _, ok := seen[digest(same)]; !ok {
		t.Error("the same set has two digests")
	}
	for what, change := range map[string]func(*Set){
		"the last bit of a feature": func(s *Set) { x := s.Clients[2].X.Row(1); x[3] = math.Nextafter(x[3], 9) },
		"a label":                   func(s *Set) { s.Clients[0].Y[2] *= -1 },
		"a row":                     func(s *Set) { s.Clients[0].X.Rows-- },
		"a task":                    func(s *Set) { s.Clients = s.Clients[:2] },
		"the order of tasks":        func(s *Set) { s.Clients[0], s.Clients[1] = s.Clients[1], s.Clients[0] },
		"the precision": func(s *Set) {
			single := cfg
			single.Precision = PrecisionSingle
			expect.NoError(t, single.transform(s, nil))
		},
	} {
		d := digest(change)
		other, ok := seen[d]
		expect.That(t, !ok, "%s and %s have the same digest", what, other)
		seen[d] = what
	}
}
