package columns

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

func TestTable(t *testing.T) {
	table := Table{
		Label: "method",
		Groups: []Group{{Heads: []string{"error"}}, {Title: "to a long way off", Heads: []string{"a", "b"}},
			{Title: "x", Heads: []string{"c"}}, {Heads: []string{"note"}, Left: true}},
		Blocks: []Block{{Title: "here", Rows: [][]string{{"one", "1 %", "2", "33", "4", "stalled"}}},
			{Title: "there", Rows: [][]string{{"another", "-", "-", "-", "-", ""}}}},
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
		if got := (Sections{{Table: table}}).Text(width); got != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, got, want)
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
			table.Groups = append(table.Groups,
				Group{Title: text.Draw(t, "title"), Heads: heads, Left: rapid.Bool().Draw(t, "left")})
			cells += len(heads)
		}
		rows := rapid.SliceOfN(rapid.SliceOfN(text, cells, cells), 0, 4).Draw(t, "rows")
		table.Blocks = []Block{{Title: text.Draw(t, "block"), Rows: rows}}
		width := rapid.IntRange(40, 200).Draw(t, "width")
		got := Sections{{Table: table}}.Text(width)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; n > width {
				t.Fatalf("%d characters of %d: %s", n, width, line)
			}
		}
		for _, row := range rows {
			for _, cell := range row {
				if utf8.RuneCountInString(cell) <= width/2-lead-groupGap && !strings.Contains(got, cell) {
					t.Fatalf("%q is not in\n%s", cell, got)
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
		got := Wrap(text, 16, 2)
		expect.That(t, got == want, "%q is\n%s\nwant\n%s", text, got, want)
	}
}

func TestMarkdown(t *testing.T) {
	table := Table{
		Label: "method",
		Groups: []Group{{Heads: []string{"error"}}, {Title: "to 1e-3", Heads: []string{"a", "b"}},
			{Title: "to 1e-3", Heads: []string{"c"}}, {Heads: []string{"note"}, Left: true}},
		Blocks: []Block{
			{Title: "a|b", Rows: [][]string{{"x_y", "1 %", "2", "3", "4", "stalled"}}, Best: [][2]int{{0, 1}}},
			{Rows: [][]string{{"z", "-", "-", "-", "-", ""}}, Notes: []string{"one*", "two"}},
		},
	}
	want := `| method | error | to 1e-3: a | b | c | note |
| :-- | --: | --: | --: | --: | :-- |
| **a\|b** | | | | | |
| x\_y | **1 %** | 2 | 3 | 4 | stalled |
| z | - | - | - | - |  |

* one\*
* two
`
	if got := (Sections{{Table: table}}).Markdown(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1.00", -1: "-1.00", 0.0123456: "0.0123", 0.0994: "0.0994", 0.1: "0.10",
		9.994: "9.99", 9.996: "10.0", 99.96: "100", 12345.6: "12346", 1.2e-9: "1.2e-09",
		math.Inf(1): "+Inf", math.NaN(): "NaN",
	} {
		got := Significant(v)
		expect.That(t, got == want, "%v: %s, want %s", v, got, want)
	}
}

// A section in all forms: what marks up text in one is text there, and each ends with the notes.
func TestForms(t *testing.T) {
	s := Sections{{
		Title: "a_b <c>", Notes: []string{"50 % & more"}, Name: "x", Exact: [][]string{{"m", "v"}, {"y_1", "0.1"}},
		Table: Table{
			Label:  "m",
			Groups: []Group{{Title: "at the end", Heads: []string{"v", "w"}}, {Heads: []string{""}, Left: true}},
			Blocks: []Block{{Title: "p = 1", Rows: [][]string{{"y_1", "0.1", "-", "<i>"}}, Best: [][2]int{{0, 1}},
				Notes: []string{"one"}}},
		},
	}, {Title: "only a title"}, {Title: "a list", Notes: []string{"one", "<two>"}}}
	for name, c := range map[string][2]string{
		"LaTeX": {s.LaTeX(), `% a_b <c>
\begin{tabular}{lrrl}
\toprule
 & \multicolumn{2}{c}{at the end} & \multicolumn{1}{c}{} \\
\cmidrule(lr){2-3}
m & v & w &  \\
\midrule
\multicolumn{4}{l}{p = 1} \\
y\_1 & \textbf{0.1} & - & \textless{}i\textgreater{} \\
\bottomrule
\end{tabular}
% one
% 50 % & more
% only a title
% a list
% one
% <two>
`},
		"HTML": {s.HTML(), `<div class="wide" tabindex="0" role="group" aria-label="a_b &lt;c&gt;"><table>
<caption>a_b &lt;c&gt;</caption>
<thead><tr class="above"><td></td><th scope="colgroup" colspan="1" class="over">at the end</th><th scope="colgroup" colspan="1" class="over"></th></tr>
<tr><th scope="col">m</th><th scope="col" class="begins">v</th><th scope="col" class="begins left"></th></tr></thead>
<tbody>
<tr class="title"><th scope="rowgroup" colspan="3">p = 1</th></tr>
<tr><th scope="row" data-head="m">y_1</th><td class="begins" data-head="at the end: v"><strong class="best" title="the best of this block">0.1</strong></td><td class="begins left" data-head="">&lt;i&gt;</td></tr>
<tr class="note"><td colspan="3">one</td></tr>
</tbody>
</table></div>
<p class="quiet">50 % &amp; more</p>
<p>only a title</p>
<h4>a list</h4>
<ul>
<li>one</li>
<li>&lt;two&gt;</li>
</ul>
`},
		"text": {s.Text(40), `a_b <c>

  p = 1
         at the end
  m        v  w
  ------------------------
  y_1    0.1  -        <i>
  one
  50 % & more

only a title

a list
  one
  <two>
`},
	} {
		if c[0] != c[1] {
			t.Errorf("%s:\n%s\nwant\n%s", name, c[0], c[1])
		}
	}
	files := s.Files()
	if len(files) != 3 || files[0].Name != "x.csv" || files[1].Name != "x.md" || files[2].Name != "x.tex" {
		t.Fatalf("files %+v", files)
	}
	for i, want := range []string{"m,v\ny_1,0.1\n", s.Markdown(), s.LaTeX()} {
		var b strings.Builder
		if err := files[i].Write(&b); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", files[i].Name, err, b.String(), want)
		}
	}
}

// A page has no table that is wider than it: columns beyond the most are in another table, with their rows, units, bold
// cells and notes.
func TestParts(t *testing.T) {
	table := Table{Label: "m", Groups: []Group{{Heads: []string{"a", "b"}}, {Title: "g", Heads: []string{"c", "d", "e"},
		Units: []string{"s", "", "J"}}}, Blocks: []Block{{Rows: [][]string{{"x", "1", "2", "3", "4", "5"}},
		Notes: []string{"n"}, Best: [][2]int{{0, 1}, {0, 5}}}}}
	got := fmt.Sprint(table.parts(2))
	const want = "[{m [{ [a b] [] false}] [{ [[x 1 2]] [] [[0 1]]}]} {m [{g [c d] [s ] false}] [{ [[x 3 4]] [] []}]} " +
		"{m [{g [e] [J] false}] [{ [[x 5]] [n] [[0 1]]}]}]"
	if got != want {
		t.Errorf("parts are\n%s\nwant\n%s", got, want)
	}
}

// A row is added to the last block, and a table without blocks gets one.
func TestAdd(t *testing.T) {
	var table Table
	table.Add("one", "1")
	table.Blocks = append(table.Blocks, Block{})
	table.Add("two", "2")
	table.Add("three", "3")
	if got := fmt.Sprint(table.Blocks); got != "[{ [[one 1]] [] []} { [[two 2] [three 3]] [] []}]" {
		t.Errorf("got %s", got)
	}
}
