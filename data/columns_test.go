package data

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "any [x]", true},
		{"sensor_*", "sensor_", true}, {"sensor_*", "sensor_1", true}, {"sensor_*", "my_sensor_1", false},
		{"*_id", "user_id", true}, {"*_id", "user_id2", false}, {"a*b*c", "abc", true}, {"a*b*c", "aXbYbZc", true},
		{"a*b*c", "acb", false}, {"ab*ba", "aba", false}, {"a*b", "ab", true}, {"acc[0]*", "acc[0]-x", true},
		{"a?", "ab", false}, {"**", "x", true},
	} {
		got := matches(c.pattern, c.name)
		expect.That(t, got == c.want, "matches(%q, %q) = %t", c.pattern, c.name, got)
	}
}

func TestChooseColumns(t *testing.T) {
	header := []string{"id", "label", "sensor_1", "note", "client", "sensor_2", "note"}
	for _, c := range []struct {
		columns, drop Names
		task          string
		want          []int
		problem       string
	}{
		{columns: NamesOf("sensor_*"), task: "client", want: []int{2, 5}},
		{columns: NamesOf("sensor_2", "id"), task: "client", want: []int{0, 5}},
		{drop: NamesOf("note"), task: "client", want: []int{0, 2, 5}},
		{drop: NamesOf("note"), want: []int{0, 2, 4, 5}},
		{columns: NamesOf("*"), drop: NamesOf("note", "id"), task: "client", want: []int{2, 5}},
		{task: "client", problem: `the columns 4 and 7 have the same name "note"`},
		{columns: NamesOf("sensor_1", "x"), drop: NamesOf("y", "client"), task: "who",
			problem: `the header has no column "who" (data.client_column; empty: all rows are of one client); ` +
				`there are: ` +
				`"id", "label", "sensor_1", "note", "client", "sensor_2", "note"` + "\n" +
				`no column of features is named "x" (data.columns); there are: "id", "label", "sensor_1", "note", ` +
				`"client", ` +
				`"sensor_2", "note"` + "\n" +
				`no column of features is named "y" (data.drop_columns); there are: "id", "label", "sensor_1", ` +
				`"note", ` +
				`"client", "sensor_2", "note"`},
		{columns: NamesOf("sensor"), task: "client",
			problem: `no column of features is named "sensor" (data.columns); ` +
				`there are: "id", "label", "sensor_1", "note", "client", "sensor_2", "note"; did you mean "sensor_1"?`},
		{drop: NamesOf("nota"), task: "client", problem: `no column of features is named "nota" (data.drop_columns); ` +
			`there are: "id", "label", "sensor_1", "note", "client", "sensor_2", "note"; did you mean "note"?` +
			"\nthe columns 4 and 7 have the same name \"note\""},
		{drop: NamesOf("label"), task: "client",
			problem: `data.drop_columns names "label", the column of the client or the label` +
				"\nthe columns 4 and 7 have the same name \"note\""},
		{drop: NamesOf("*"), task: "client",
			problem: `the header has no features: must have columns besides client and label`},
	} {
		cfg := Defaults()
		cfg.Columns, cfg.DropColumns, cfg.ClientColumn = c.columns, c.drop, c.task
		chosen, problems := cfg.ChooseColumns(header, nil)
		var texts []string
		for _, p := range problems {
			texts = append(texts, p.Text)
		}
		if problem := strings.Join(texts, "\n"); problem != c.problem {
			t.Errorf("problem %s, want %s", problem, c.problem)
			continue
		}
		diff := cmp.Diff(c.want, chosen.Features)
		expect.That(t, c.problem != "" || diff == "", "%+v: %s", c, diff)
	}
}

// A list of names, also with an empty one, survives a scenario file.
func TestNames(t *testing.T) {
	for text, want := range map[string][]string{
		`x = "a"`: {"a"}, `x = ["a, \"b\"", ""]`: {`a, "b"`, ""}, `x = []`: nil, `x = [""]`: {""},
	} {
		node, err := config.Parse("in.toml", []byte(text))
		expect.NoError(t, err)
		var names Names
		problems := config.Decode(node.Child("x"), "x", &names)
		expect.Must(t, len(problems) == 0, "%v", problems)
		diff := cmp.Diff(want, names.list())
		expect.That(t, diff == "", "%s: %s", text, diff)
		again, err := names.MarshalTOML()
		expect.NoError(t, err)
		if node, err = config.Parse("in.toml", []byte("x = "+string(again))); err != nil {
			t.Fatal(err)
		}
		var back Names
		if config.Decode(node.Child("x"), "x", &back); back != names {
			t.Errorf("%s is read back as %q", again, back)
		}
	}
}

func TestMissingValues(t *testing.T) {
	const text = "client,label,x,y\n1,a,1,2\n1,b,,?\n2,a,3,NA\n2,b,5,8\n2,a,null,n/a\n,a,1,1\n3,nan,1,1\n"
	_, err := parseCSV(text)
	want := `in.csv:3:5: values are missing in 5 of 7 rows ("y": 3 (1 alone), "x": 2, "label": 1 (1 alone), ` +
		`"client": 1 (1 alone)); data.missing must be "drop" to leave these rows out, "mean" to fill in means of the ` +
		`features, or data.drop_columns name these columns`
	expect.That(t, err != nil && err.Error() == want, "got  %v\nwant %s", err, want)
	set := parsedCSV(t, text, func(c *Config) { c.Missing = MissingDrop })
	if diff :=
		cmp.Diff(
			Missing{Rows: 5, Values: 7, Dropped: true,
				Columns: []MissingColumn{{"label", 1, 1}, {"client", 1, 1}, {"x", 2, 0}, {"y", 3, 1}}},
			set.Missing); diff != "" || set.Rows() != 2 || len(set.Clients) != 2 {
		t.Errorf("%d rows, %d tasks: %s", set.Rows(), len(set.Clients), diff)
	}
	_, err = parseCSV(text, func(c *Config) { c.Missing = MissingMean })
	if want := `in.csv:3:5: values are missing in 5 of 7 rows ("y": 3 (1 alone), "x": 2, "label": 1 (1 alone), ` +
		`"client": 1 (1 alone)); data.missing must be "drop" to leave these rows out`; err == nil ||
		err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = parseCSV("client,label,x,y\n1,a,,1\n1,b,1,\n", func(c *Config) { c.Missing = MissingDrop })
	if want := `in.csv:2:5: values are missing in 2 of 2 rows ("x": 1 (1 alone), "y": 1 (1 alone)); ` +
		`no row is complete: data.drop_columns must name columns to leave out`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Rows are left out for missing values of the columns that are used alone: labels, tasks and
// chosen features. The counts by column say what each column costs.
func TestOnlyUsedColumnsMissValues(t *testing.T) {
	var text strings.Builder
	text.WriteString("client,label,x,y,note,age\n")
	for i := range 25 {
		text.WriteString([]string{"1,a,1,2,,3\n", "1,b,?,1,n,\n", "2,b,4,1,,3\n", "2,a,2,NA,,\n", "2,b,1,1,,\n"}[i%5])
	}
	for _, c := range []struct {
		columns, drop Names
		rows          int
		want          []MissingColumn
	}{
		{NamesOf("x"), "", 20, []MissingColumn{{"x", 5, 5}}},
		{NamesOf("x", "y"), "", 15, []MissingColumn{{"x", 5, 5}, {"y", 5, 5}}},
		{"", NamesOf("note", "age"), 15, []MissingColumn{{"x", 5, 5}, {"y", 5, 5}}},
		{"", NamesOf("note"), 10, []MissingColumn{{"x", 5, 0}, {"y", 5, 0}, {"age", 15, 5}}},
	} {
		set := parsedCSV(t, text.String(),
			func(cfg *Config) { cfg.Columns, cfg.DropColumns, cfg.Missing = c.columns, c.drop, MissingDrop })
		if diff := cmp.Diff(c.want, set.Missing.Columns); set.Rows() != c.rows || diff != "" {
			t.Errorf("%q without %q: %d rows, want %d; %s", c.columns, c.drop, set.Rows(), c.rows, diff)
		}
	}
}

// Missing values become means of the training rows: test rows do not change them.
func TestMissingMean(t *testing.T) {
	var text strings.Builder
	text.WriteString("client,label,x\n")
	for i := range 40 {
		text.WriteString([]string{"1,a,1\n", "1,b,\n", "2,a,4\n", "2,b,2\n"}[i%4])
	}
	cfg := Defaults()
	cfg.Source, cfg.Path, cfg.Missing = SourceCSV, "in.csv", MissingMean
	set := expect.Value(readCSV(strings.NewReader(text.String()), "in.csv", &cfg))(t)
	if diff := cmp.Diff(Missing{Rows: 10, Values: 10, Columns: []MissingColumn{{"x", 10, 10}}},
		set.Missing); diff != "" {
		t.Error(diff)
	}
	split := expect.Value(cfg.Divide(set, 1))(t)
	for i := range split.Test.Clients[1].X.Rows { // must not matter
		split.Test.Clients[1].X.Row(i)[0] = 1e9
	}
	sum, known := 0.0, 0.0
	split.Train.eachRow(func(x []float64) {
		if !math.IsNaN(x[0]) {
			sum, known = sum+x[0], known+1
		}
	})
	expect.Must(t, known != float64(split.Train.Rows()) && known != 0, "the training rows must miss some values")
	expect.NoError(t, cfg.Transform(split))
	filled := 0
	for _, half := range []*Set{split.Train, split.Test} {
		half.eachRow(func(x []float64) {
			switch x[0] {
			case sum / known:
				filled++
			case 1, 2, 4, 1e9:
			default:
				t.Fatalf("value %v", x[0])
			}
		})
	}
	expect.That(t, filled == 10, "%d values are %v, want 10", filled, sum/known)

	split = expect.Value(cfg.Divide(set, 1))(t)
	split.Train.Clients = split.Train.Clients[:1]
	for i := range split.Train.Clients[0].X.Rows {
		split.Train.Clients[0].X.Row(i)[0] = math.NaN()
	}
	if err := cfg.Transform(split); err == nil ||
		!strings.Contains(err.Error(), `no training row of in.csv has a value of the feature "x"`) {
		t.Errorf("got %v", err)
	}
}
