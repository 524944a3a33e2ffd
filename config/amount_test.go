package config

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// An amount is a number or a share, and reads again as it is written.
func TestAmounts(t *testing.T) {
	type table struct {
		K Amount `toml:"k"`
	}
	for text, want := range map[string]Amount{
		"10": {Count: 10}, `"10 %"`: {Share: 0.1}, `"30%"`: {Share: 0.3}, `"0.7 %"`: {Share: 0.007},
		`"100 %"`: {Share: 1}, `"33.3 %"`: {Share: 0.333},
	} {
		var got table
		problems := Decode(parsed(t, "k = "+text), "", &got)
		expect.That(t, len(problems) == 0 && got.K == want, "%s: %+v, %v", text, got.K, problems)
		var again table
		written := "k = " + Literal(got.K)
		problems = Decode(parsed(t, written), "", &again)
		expect.That(t, len(problems) == 0 && again == got, "%s is written as %s", text, written)
	}
	for _, text := range []string{"-1", "0.5", `"0 %"`, `"101 %"`, `"10"`, `"ten %"`, "[1]"} {
		var got table
		problems := Decode(parsed(t, "k = "+text), "", &got)
		expect.That(t, len(problems) == 1 && strings.Contains(problems.Error(), `as "10 %"`), "%s: %v", text, problems)
	}
}

func parsed(t *testing.T, source string) *Node {
	t.Helper()
	return expect.Value(Parse("x.toml", []byte(source)))(t)
}
