package config

import (
	"strings"
	"testing"
)

// link has keys that may be absent.
type link struct {
	Mbps  float64 `toml:"mbps" absent:"-1: the profile's" doc:"rate"`
	Cells int     `toml:"cells" absent:"0: none" doc:"number of cells"`
	Name  string  `toml:"name" doc:"name"`
}

func TestAbsentKeys(t *testing.T) {
	decode := func(source string) (link, Errors) {
		root, err := Parse("x.toml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		l := link{Mbps: -1}
		return l, Decode(root, "links", &l)
	}
	for source, want := range map[string]link{
		"name = \"a\"\n":                       {Mbps: -1, Name: "a"},
		"mbps = 0.0\ncells = 2\nname = \"\"\n": {Cells: 2},
	} {
		var got link
		root, err := Parse("x.toml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		got.Mbps = -1
		if problems := Decode(root, "links", &got); len(problems) > 0 || got != want {
			t.Errorf("%q is %+v, want %+v: %v", source, got, want, problems)
		}
		if text, err := Encode(got); err != nil || string(text) != source {
			t.Errorf("%+v is written as %q, want %q: %v", got, text, source, err)
		}
	}
	_, problems := decode("mbps = -1\ncells = 0\n")
	want := "x.toml:1:8: links.mbps = -1: leave the key out: it is then the profile's\n" +
		"x.toml:2:9: links.cells = 0: leave the key out: it is then none"
	if got := problems.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	fields := Fields(&link{Mbps: -1})
	if f := fields[0]; f.Default != "" || f.Absent != "the profile's" ||
		!strings.HasSuffix(f.Doc, "rate; absent: the profile's") {
		t.Errorf("the field is %+v", f)
	}
}

// work has keys whose value is a number or a word, and a name that may be none.
type work struct {
	Batch int     `toml:"batch" word:"0: all" doc:"rows"`
	Wh    float64 `toml:"wh" absent:"0: the profile's" word:"-1: mains" doc:"battery"`
	Fleet string  `toml:"fleet" word:"\"\": none" doc:"fleet"`
}

func TestWordsForNumbers(t *testing.T) {
	decode := func(source string) (w work, problems Errors) {
		root, err := Parse("x.toml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		return w, Decode(root, "local", &w)
	}
	for source, want := range map[string]work{
		"batch = \"all\"\nwh = \"mains\"\nfleet = \"none\"\n": {Wh: -1},
		"batch = 3\nwh = 2.5\nfleet = \"mixed\"\n":            {3, 2.5, "mixed"},
	} {
		got, problems := decode(source)
		if len(problems) > 0 || got != want {
			t.Errorf("%q is %+v, want %+v: %v", source, got, want, problems)
		}
		if text, err := Encode(got); err != nil || string(text) != source {
			t.Errorf("%+v is written as %q, want %q: %v", got, text, source, err)
		}
	}
	_, problems := decode("batch = 0\nwh = -1\nfleet = \"\"\n")
	problems = append(problems, second(decode("batch = \"al\"\n"))...)
	want := "x.toml:1:9: local.batch = 0: write \"all\"\n" +
		"x.toml:2:6: local.wh = -1: write \"mains\"\n" +
		"x.toml:3:9: local.fleet = \"\": write \"none\"\n" +
		"x.toml:1:9: local.batch = \"al\": must be an integer or \"all\""
	if got := problems.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	fields := Fields(&work{Wh: -1})
	if f := fields[0]; f.Type != `integer or "all"` || f.Default != `"all"` {
		t.Errorf("the field is %+v", f)
	}
}

func second(_ work, problems Errors) Errors { return problems }
