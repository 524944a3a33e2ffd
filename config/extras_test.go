package config

import (
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

type noisy struct {
	Share float64  `toml:"share"`
	Names []string `toml:"names"`
}

type limits struct {
	Loudest int `toml:"loudest"`
}

type quiet struct {
	First  int    `toml:"first"`
	Extras Extras `toml:"-"`
	Last   int    `toml:"last"`
}

type house struct {
	Name string `toml:"name"`
	quiet
	Run quiet `toml:"run"`
}

func newHouse() house {
	return house{
		quiet: quiet{Extras: Extras{
			{After: "first", Key: "noise", Doc: "noise of devices", Value: &noisy{Share: 0.5}},
			{After: "none", Key: "end", Value: &noisy{}},
			{After: "first", Key: "other", Value: &noisy{}},
		}},
		Run: quiet{Extras: Extras{{After: "first", Value: &limits{Loudest: 3}}}},
	}
}

// Extras are keys of a struct as its fields are: in all that lists, decodes and encodes.
func TestExtras(t *testing.T) {
	h := newHouse()
	var keys []string
	for _, f := range Fields(&h) {
		keys = append(keys, f.Key)
	}
	want := []string{"name", "first", "noise", "noise.share", "noise.names", "other", "other.share", "other.names",
		"last", "run", "run.first", "run.loudest", "run.last", "end", "end.share", "end.names"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
	if problems := Decode(table(t, "x.toml", "[noise]\nshare = 0.25\n[run]\nloudest = 7\nlast = 1\n"), "",
		&h); problems != nil {
		t.Fatal(problems)
	}
	noise, limit := Part[noisy](h.Extras), Part[limits](h.Run.Extras)
	expect.That(t, noise.Share == 0.25 && limit.Loudest == 7 && h.Run.Last == 1, "%+v, %+v", noise, limit)
	text := expect.Value(Encode(h))(t)
	if diff := cmp.Diff(`name = ""
first = 0
last = 0

[noise]
share = 0.25
names = []

[other]
share = 0.0
names = []

[run]
first = 0
loudest = 7
last = 1

[end]
share = 0.0
names = []
`, string(text)); diff != "" {
		t.Error(diff)
	}
	problems := Decode(table(t, "x.toml", "[run]\nloudes = 1\n"), "", &h)
	if diff := cmp.Diff("x.toml:2:1: unknown key run.loudes: did you mean loudest?",
		problems.Err().Error()); diff != "" {
		t.Error(diff)
	}
}
