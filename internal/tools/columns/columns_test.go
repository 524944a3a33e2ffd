package columns

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	_ "fedsim/internal/tools/rapidseed"
)

func TestTable(t *testing.T) {
	table := Table{
		Label:  "method",
		Groups: []Group{{Heads: []string{"error"}}, {Title: "to a long way off", Heads: []string{"a", "b"}}, {Title: "x", Heads: []string{"c"}}, {Heads: []string{"note"}, Left: true}},
		Blocks: []Block{{Title: "here", Rows: [][]string{{"one", "1 %", "2", "33", "4", "stalled"}}}, {Title: "there", Rows: [][]string{{"another", "-", "-", "-", "-", ""}}}},
	}
	for width, want := range map[int]string{
		80: `  here
                      to a long way off    x
  method     error    a   b                c    note
  -----------------------------------------------------
  one          1 %    2  33                4    stalled

  there
                      to a long way off    x
  method     error    a   b                c    note
  -----------------------------------------------------
  another        -    -   -                -
`,
		40: `  here
                      to a long way off
  method     error    a   b
  -------------------------
  one          1 %    2  33

             x
  method     c    note
  -----------------------
  one        4    stalled

  there
                      to a long way off
  method     error    a   b
  -------------------------
  another        -    -   -

             x
  method     c    note
  -----------------------
  another    -
`} {
		var b strings.Builder
		table.Write(&b, width)
		if b.String() != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, b.String(), want)
		}
	}
}

// No line is wider than requested, whatever the table holds. Every cell that fits in
// half a line is written.
func TestTablesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zé]{0,50}`)
		table := Table{Label: text.Draw(t, "label")}
		cells := 1
		for range rapid.IntRange(1, 5).Draw(t, "groups") {
			heads := rapid.SliceOfN(text, 1, 6).Draw(t, "heads")
			table.Groups = append(table.Groups, Group{Title: text.Draw(t, "title"), Heads: heads, Left: rapid.Bool().Draw(t, "left")})
			cells += len(heads)
		}
		rows := rapid.SliceOfN(rapid.SliceOfN(text, cells, cells), 0, 4).Draw(t, "rows")
		table.Blocks = []Block{{Title: text.Draw(t, "block"), Rows: rows}}
		width := rapid.IntRange(40, 200).Draw(t, "width")
		var b strings.Builder
		table.Write(&b, width)
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line) - 1; n > width {
				t.Fatalf("%d characters of %d: %s", n, width, line)
			}
		}
		for _, row := range rows {
			for _, cell := range row {
				if utf8.RuneCountInString(cell) <= width/2-lead-groupGap && !strings.Contains(b.String(), cell) {
					t.Fatalf("%q is not in\n%s", cell, b.String())
				}
			}
		}
	})
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"some words and others":        "  some words and\n  others",
		"one\n\ntwo":                   "  one\n\n  two",
		"abcdefghijklmnopqrstuvwxyz b": "  abcdefghijklm…\n  b",
	} {
		if got := Wrap(text, 16, 2); got != want {
			t.Errorf("%q is\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	table := Table{
		Label:  "method",
		Groups: []Group{{Heads: []string{"error"}}, {Title: "to 1e-3", Heads: []string{"a", "b"}}, {Title: "to 1e-3", Heads: []string{"c"}}, {Heads: []string{"note"}, Left: true}},
		Blocks: []Block{
			{Title: "a|b", Rows: [][]string{{"x_y", "1 %", "2", "3", "4", "stalled"}}, Bold: func(row, cell int) bool { return row == 0 && cell == 1 }},
			{Rows: [][]string{{"z", "-", "-", "-", "-", ""}}, Notes: []string{"one*", "two"}},
		},
	}
	var b strings.Builder
	table.WriteMarkdown(&b)
	want := `| method | error | to 1e-3: a | b | c | note |
| :-- | --: | --: | --: | --: | :-- |
| **a\|b** | | | | | |
| x\_y | **1 %** | 2 | 3 | 4 | stalled |
| z | - | - | - | - |  |

* one\*
* two
`
	if b.String() != want {
		t.Errorf("\n%s\nwant\n%s", b.String(), want)
	}
}

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1.00", -1: "-1.00", 0.0123456: "0.0123", 0.0994: "0.0994", 0.1: "0.10",
		9.994: "9.99", 9.996: "10.0", 99.96: "100", 12345.6: "12346", 1.2e-9: "1.2e-09",
		math.Inf(1): "+Inf", math.NaN(): "NaN",
	} {
		if got := Significant(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
