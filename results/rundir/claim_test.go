package rundir

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// A claim that is written is read again from any text around it, also where "&" is escaped.
func TestClaimsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Claim{
			Scenario: rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(t, "scenario"),
			Hash:     results.Hash(rapid.Uint64().Draw(t, "hash")),
			Numerics: rapid.IntRange(0, 99).Draw(t, "numerics"),
		}
		text := c.String()
		if rapid.Bool().Draw(t, "escaped") {
			text = strings.ReplaceAll(text, "&", "&amp;")
		}
		found, err := FindClaim([]byte("<svg><metadata>" + text + "</metadata>"))
		if err != nil || found == nil {
			t.Fatalf("not found: %v", err)
		}
		if !bytes.Equal(found.Scenario, c.Scenario) || found.Hash != c.Hash || found.Numerics != c.Numerics {
			t.Fatalf("found %+v, wrote %+v", found, c)
		}
	})
}

// Texts from anywhere are refused in bounded memory: a small text may unpack to gigabytes.
func TestClaimsFromAnywhere(t *testing.T) {
	racetest.Skip(t, "reads and writes with one goroutine")
	bomb := &Claim{Scenario: make([]byte, 100*config.MaxSource)}
	for name, text := range map[string]string{
		"a bomb":     bomb.String(),
		"not packed": "s=AAAA&h=0123456789abcdef&n=2",
		"cut":        (&Claim{Scenario: []byte("name = \"x\"")}).String()[:8] + "&h=0123456789abcdef&n=2",
		"no base64":  "s=A&h=0123456789abcdef&n=2",
	} {
		c, err := FindClaim([]byte(text))
		expect.That(t, err != nil, "%s: no error, but %v", name, c)
	}
	for _, text := range []string{"", "s=&h=0123456789abcdef&n=2", "s=AAAA&h=0123&n=2", "h=0123456789abcdef"} {
		c, err := FindClaim([]byte(text))
		expect.That(t, c == nil && err == nil, "%q: %v, %v", text, c, err)
	}
}

// The fragment of a link has a scenario with results or without, and nothing else.
func TestFragments(t *testing.T) {
	racetest.Skip(t, "reads and writes with one goroutine")
	c := &Claim{Scenario: []byte("name = \"x\""), Hash: 1, Numerics: 3}
	for _, text := range []string{c.String(), "#" + c.String(), Fragment(c.Scenario)} {
		found, err := ReadFragment(text)
		expect.Must(t, err == nil && bytes.Equal(found.Scenario, c.Scenario), "%s: %v", text, err)
		expect.That(t, found.Numerics == 0 || found.Hash == c.Hash, "%s: %+v", text, found)
	}
	bomb := &Claim{Scenario: make([]byte, 100*config.MaxSource)}
	for text, want := range map[string]string{
		"": "no scenario", "#": "no scenario", "x" + c.String(): "no scenario", c.String() + "&": "no scenario",
		Fragment(make([]byte, 0)) + "&h=1&n=2": "no scenario", "s=AAAA": "compressed", bomb.String(): "more than",
		Fragment([]byte{0xff, 0xfe}): "not UTF-8", "s=" + strings.Repeat("A", 10<<20): "the link has 10485762 bytes",
	} {
		found, err := ReadFragment(text)
		expect.That(t, err != nil && len(err.Error()) < 300 && strings.Contains(err.Error(), want), "%.40q: %+v, %v",
			text, found, err)
	}
}

func FuzzFindClaim(f *testing.F) {
	f.Add([]byte((&Claim{Scenario: []byte("name = \"x\"")}).String()))
	f.Add([]byte("s=AAAA&h=0123456789abcdef&n=2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := FindClaim(text); err == nil && c != nil && len(c.Scenario) > config.MaxSource {
			t.Errorf("a scenario of %d bytes", len(c.Scenario))
		}
	})
}
