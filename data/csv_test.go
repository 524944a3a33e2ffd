package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/racetest"
	_ "fedsim/internal/tools/rapidseed"
)

// parseCSV reads text as the file in.csv, with changes of the configuration of a csv file.
func parseCSV(text string, changes ...func(*Config)) (*Set, error) {
	return parseFrom(strings.NewReader(text), "in.csv", changes...)
}

// parsedCSV is parseCSV that must not fail.
func parsedCSV(t testing.TB, text string, changes ...func(*Config)) *Set {
	t.Helper()
	set := expect.Value(parseCSV(text, changes...))(t)
	return set
}

func parseFrom(r io.Reader, name string, changes ...func(*Config)) (*Set, error) {
	cfg := Defaults()
	cfg.Source, cfg.Path = SourceCSV, name
	for _, change := range changes {
		change(&cfg)
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	text, err := input.NewNamedText(r, name)
	if err != nil {
		return nil, err
	}
	set, err := readCSV(text, name, &cfg)
	if err != nil {
		return nil, err
	}
	return set, cfg.setTarget(set, name)
}

func TestReadCSV(t *testing.T) {
	set := parsedCSV(t, "\ufeffheight, label ,client,weight\n1.5,1,b,-2\n0.25, -1 ,a,3e2\r\n\n-0, +1.0 , b ,4\n")
	checkShape(t, set)
	diff := cmp.Diff([]string{"height", "weight"}, set.FeatureNames)
	expect.That(t, diff == "" && set.Features == 2, "%d features: %s", set.Features, diff)
	b, a := &set.Clients[0], &set.Clients[1] // names are not numbers: in order of appearance
	expect.Must(t, b.Name == "b" && a.Name == "a" && len(set.Clients) == 2, "tasks %+v", set.Clients)
	if diff := cmp.Diff([]float64{1, 1}, b.Y); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0.25, 300}, a.X.Row(0)); diff != "" {
		t.Error(diff)
	}
	x := b.X.Row(1)
	expect.That(t, x[1] == 4 && math.Signbit(x[0]), "row %v, want -0, 4", x)
}

func TestReadCSVOrdersTasks(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"10 9 -1 2", "-1 2 9 10"},
		{"10 9 x 2", "10 9 x 2"},
		{"10 9 2.5", "10 9 2.5"},
		{"01 1 0", "0 01 1"}, // equal numbers in order of appearance
		{"10 99999999999999999999 9", "10 99999999999999999999 9"},
	} {
		text := "client,label,x\n"
		for i, name := range strings.Fields(c.file) {
			text += name + []string{",1,0\n", ",-1,0\n"}[i%2]
		}
		set := parsedCSV(t, text)
		var names []string
		for k := range set.Clients {
			names = append(names, set.Clients[k].Name)
		}
		got := strings.Join(names, " ")
		expect.That(t, got == c.want, "tasks %s are put in the order %s, want %s", c.file, got, c.want)
	}
}

// An error may continue where its text ends in "…".
func TestReadCSVErrors(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"empty", "",
			`in.csv: the file is empty: must have a header with the columns "client", "label" and the features`},
		{"header alone", "client,label,x\n", `in.csv: has a header but no rows`},
		{"no task column", "cleint,label,x\n1,1,1\n", `in.csv:1: the header has no column "client" …`},
		{"no column at all", "a,b,\n1,1,1\n", `in.csv:1: the header has no column "client" ` +
			`(data.client_column; empty: ` +
			`all rows are of one client); there are: "a", "b", ""` + "\n" +
			`in.csv:1: the header has no column "label" (data.label_column); there are: "a", "b", ""` + "\n" +
			`in.csv:1:5: the column's name is empty (to leave it out: data.drop_columns = [""])`},
		{"problems of rows", "client,label,x,y\n1,1,red,\n1,2,blue,5\n1,3,1\n1,3,1,2\n\"\n\",4,green,1e999\n",
			`in.csv:2:5: column "x": "red" is not a number (to leave out a column of text: ` +
				`data.drop_columns = ["x"]); rows with such a problem: 3` + "\n" +
				`in.csv:4:1: the row has 3 fields, the header has 4` + "\n" +
				`in.csv:5:3: the label "3" is a third class, besides "1" and "2": data.positive_class must name one ` +
				`of ` +
				`them, or data.target be "classes" or "real"; rows with such a problem: 2` + "\n" +
				`in.csv:7:11: column "y": "1e999" is not a finite number` + "\n" +
				`in.csv:2:9: values are missing in 2 of 5 rows ("client": 1 (1 alone), "y": 1 (1 alone)); …`},
		{"problems before the end of the text", "client,label,x\n1,1,red\n1,1,\"3\n",
			`in.csv:2:5: column "x": "red" is not a number (to leave out a column of text: data.drop_columns = ["x"])` +
				"\n" +
				`in.csv:3:8: not delimited text: extraneous or missing " in quoted-field`},
		{"duplicate column", "client,label,x, x\n", `in.csv:1:16: the columns 3 and 4 have the same name "x"`},
		{"control character", "client,label,\"a\nb\"\n", `in.csv:1:14: the column's name "a\nb" must be text without ` +
			`control characters (to leave it out: data.drop_columns = ["a\nb"])`},
		{"long row", "client,label,x\n1,1,2,3\n", `in.csv:2:1: the row has 4 fields, the header has 3`},
		{"decimal comma", "client,label,x,y\n1,1,\"2,5\",3\n",
			`in.csv:2:5: column "x": "2,5" is not a number: must have a point, not a comma`},
		{"empty field", "client,label,x,y\n1,1,,2\n",
			`in.csv:2:5: values are missing in 1 of 1 rows ("x": 1); the column "x" has no values: ` +
				`data.drop_columns must name it`},
		{"nan", "client,label,x\n1,1,2\n1,-1,NaN\n", `in.csv:3:6: values are missing in 1 of 2 rows ("x": 1); …`},
		{"inf", "client,label,x\n1,1,-Inf\n", `in.csv:2:5: column "x": "-Inf" is not a finite number`},
		{"too large", "client,label,x\n1,1,1e101\n",
			`in.csv:2:5: column "x": "1e101" is too large, values must be at most 1e100 in size`},
		{"long field", "client,label,x\n1,1," + strings.Repeat("z", 99) + "\n",
			`in.csv:2:5: column "x": "` + strings.Repeat("z", 80) + `..." is not a number …`},
		{"label nan", "client,label,x\n1,nan,1\n", `in.csv:2:3: values are missing in 1 of 1 rows ("label": 1); ` +
			`data.missing must be "drop" to leave these rows out`},
		{"label control", "client,label,x\n1,\"y\nes\",1\n", `in.csv:2:3: the label "y\nes" must be text …`},
		{"0 and -1", "client,label,x\n1,0,1\n1,1,1\n1,-1,1\n",
			`in.csv:4:3: the label "-1" is a third class, besides "0" and "1": …`},
		{"unnamed task", "client,label,x\n ,1,1\n", `in.csv:2:1: values are missing in 1 of 1 rows ("client": 1); …`},
		{"bare quote", "client,label,x\n1,1,2\"3\n", `in.csv:2:6: not delimited text: bare " in non-quoted-field`},
		{"open quote", "client,label,x\n1,1,\"3\n",
			`in.csv:2:8: not delimited text: extraneous or missing " in quoted-field`},
	} {
		_, err := parseCSV(c.text)
		if err == nil {
			t.Errorf("%s: no error, want %s", c.what, c.want)
			continue
		}
		_, ok := errors.AsType[*ParseError](err)
		expect.That(t, ok, "%s: %T is not a *ParseError", c.what, err)
		if part, cut := strings.CutSuffix(c.want, "…"); !strings.HasPrefix(err.Error(), part) ||
			!cut && err.Error() != part {
			t.Errorf("%s:\n got %s\nwant %s", c.what, err, c.want)
		}
	}
	if _, err := parseCSV("client,label,x\n1,1,1\n2,1,1\n"); !errors.Is(err, ErrOneClass) {
		t.Errorf("%v is not ErrOneClass", err)
	}
	broken := errors.New("disk on fire")
	if _, err := parseFrom(iotest.ErrReader(broken), "in.csv"); !errors.Is(err, broken) {
		t.Errorf("%v does not wrap the reader's error", err)
	}
}

func TestReadCSVFile(t *testing.T) {
	path := filetest.New(t, "Mine.v2.csv", "device,y,x\n1,1,1\n2,-1,1\n")
	cfg := Defaults()
	cfg.Source, cfg.Path, cfg.ClientColumn, cfg.LabelColumn = SourceCSV, path, "device", "y"
	set := loaded(t, cfg)
	expect.That(t, set.Name == "Mine.v2" && !set.Generated && len(set.Clients) == 2, "set %+v", set)
	if _, err := readCSVFile(&cfg, path+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	cfg.ClientColumn = "client"
	if _, err := readCSVFile(&cfg, path); err == nil || !strings.HasPrefix(err.Error(), path+":1: ") {
		t.Errorf("the error %v does not name the file", err)
	}
}

// A file with a text in each of many columns has a line for the first twenty.
func TestReadCSVListsFewProblems(t *testing.T) {
	text := "client,label"
	for j := range 30 {
		text += fmt.Sprintf(",x%d", j)
	}
	text += strings.Repeat("\n1,1"+strings.Repeat(",a", 30), 2)
	_, err := parseCSV(text)
	if err == nil || strings.Count(err.Error(), "\n") != mostProblems ||
		!strings.HasSuffix(err.Error(), "\nin.csv: has further problems: 20") {
		t.Errorf("%v", err)
	}
}

// requireSameBits fails unless b equals a bit for bit.
func requireSameBits(t *testing.T, a, b *Set) {
	t.Helper()
	expect.That(t, a.Features == b.Features && len(a.Clients) == len(b.Clients) && fingerprint(a) == fingerprint(b),
		"the set read back has other bits")
}

func TestCSVRoundTrip(t *testing.T) {
	racetest.Skip(t, "compares errors of readers; shorter tests read in parallel")
	cfg := Defaults()
	cfg.Bias = true
	split := prepared(t, cfg)
	set := split.Train
	var file bytes.Buffer
	expect.NoError(t, WriteCSV(&file, set))
	expect.That(t, strings.HasPrefix(file.String(), "# generated by fedsim, not measured\nclient,label,x1,x2,"),
		"header %.40s", file.String())
	back := expect.Value(parseFrom(&file, "back"))(t)
	requireSameBits(t, set, back)
}

// Any finite value within the limit is preserved, as are names with commas and quotes.
func TestCSVRoundTripOfAnyValue(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := rapid.IntRange(1, 20).Draw(r, "d")
		set := &Set{Features: d}
		for j := range d {
			set.FeatureNames = append(set.FeatureNames, "feature, \"quoted\" "+string(rune('a'+j)))
		}
		for _, name := range []string{"a, b", `"c"`, `\.`, "é"} {
			n := rapid.IntRange(2, 5).Draw(r, "n")
			task := Client{Name: name, X: NewMatrix(n, d), Y: make([]float64, n)}
			for i := range n {
				task.Y[i] = float64(1 - 2*(i%2))
				for j := range d {
					task.X.Row(i)[j] = rapid.Float64Range(-input.MaxMagnitude, input.MaxMagnitude).Draw(r, "x")
				}
			}
			set.Clients = append(set.Clients, task)
		}
		var file bytes.Buffer
		expect.NoError(r, WriteCSV(&file, set))
		back := expect.Value(parseFrom(&file, "back"))(r)
		requireSameBits(t, set, back)
		diff := cmp.Diff(set.FeatureNames, back.FeatureNames)
		expect.Must(r, diff == "", "%v", diff)
	})
}

// failing is a writer that fails after a number of bytes.
type failing int

var errFull = errors.New("no space left")

func (f *failing) Write(p []byte) (int, error) {
	if *f -= failing(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Rows that are generated again for a file take the memory of one client, not of all.
func TestWriteCSVClosesClients(t *testing.T) {
	racetest.Skip(t, "it counts memory in a sync.Pool, which the detector empties at random")
	cfg := Defaults()
	cfg.Resident = false
	set, made := prepared(t, cfg).Train, 0
	whole := set.remake.free.New
	set.remake.free.New = func() any {
		made++
		return whole()
	}
	expect.NoError(t, WriteCSV(io.Discard, set))
	if made > len(set.Clients)/2 { // the collector may take some
		t.Errorf("memory was made for %d of %d clients", made, len(set.Clients))
	}
}

func TestWriteCSVErrors(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"a", "a"}, `write numbered as csv: feature 2 is named "a", the name of another column`},
		{[]string{"client", "a"}, `write numbered as csv: feature 1 is named "client", the name of another column`},
		{[]string{"a", ""}, `write numbered as csv: the name of feature 2 is empty`},
	} {
		set := numbered(2)
		set.FeatureNames = c.names
		err := WriteCSV(new(bytes.Buffer), set)
		expect.That(t, err != nil && err.Error() == c.want, "error %v, want %s", err, c.want)
	}
	set := numbered(2000)
	set.FeatureNames = []string{"a", "b"}
	for _, room := range []failing{0, 5000} {
		err := WriteCSV(&room, set)
		expect.That(t, errors.Is(err, errFull), "a full disk gives %v", err)
	}
}

// A generated set stays marked as generated after a round trip through a file, and line
// numbers include the comment.
func TestGeneratedStaysGenerated(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 3, 2, 5, 6
	set := loaded(t, cfg)
	var file bytes.Buffer
	expect.NoError(t, WriteCSV(&file, set))
	text := file.String()
	for _, mark := range []string{"", "\ufeff"} {
		back, err := parseFrom(strings.NewReader(mark+text), "v.csv")
		expect.Must(t, err == nil && back.Generated, "%+v, %v", back, err)
		requireSameBits(t, set, back)
		got := Describe(back).String()
		expect.That(t, strings.Contains(got, "source                generated\n"), "described as\n%s", got)
	}
	_, err := parseFrom(strings.NewReader(strings.Replace(text, "1,", "x,", 1)), "v.csv")
	expect.NoError(t, err)
	_, err = parseFrom(strings.NewReader(text+"1,1\n"), "v.csv")
	if want := fmt.Sprintf("v.csv:%d:1: the row has 2 fields", strings.Count(text, "\n")+1); err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = parseFrom(strings.NewReader(text), "v.csv", func(c *Config) { c.ClientColumn = "tsk" })
	expect.That(t, err != nil && strings.HasPrefix(err.Error(), "v.csv:2: the header has no column"), "got %v", err)
	mine, err := parseFrom(strings.NewReader(text[strings.Index(text, "\n")+1:]), "v.csv")
	if err != nil || mine.Generated ||
		!strings.Contains(Describe(mine).String(), "source                from a file\n") {
		t.Errorf("a file without the comment: %+v, %v", mine, err)
	}
}

// FuzzCSV looks for text that makes the reader panic, breaks a set's invariants or does
// not survive a round trip.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		"client,label,x\n1,1,2\n2,-1,3\n",
		"client,label,x,y\n1,0,2,1e-300\n1,1,3,-0\n",
		"\ufefflabel, task ,\"a,b\"\r\n1,\"x\"\"y\",0x1p-3\r\n-1,z, 5 \r\n",
		"client,label,x\n1,2.5,1\n1,-3e-7,0\n",
		"client;label;x;y\n1;b;1;?\n1;a;NA;0\n2;\"c;d\";;\n", "client,label,x1,y,x2\n1,1,2,text,NaN\n2,NA,null,3,4\n",
		"client,label,x\n1,1,NaN\n", "client,label,x\n1,1\n", "client,label\n", "", "\n\n", "\"", "task,client,label\n",
		",client,label,x\n0,1,1,2\n",
		"client,label,Unnamed: 0,__index_level_0__\n1,1_1,0x1p-2,<NA>\nNone,-nan,#N/A,1.#IND\n", "a\rb\r",
	} {
		f.Add([]byte(seed))
	}
	f.Add([]byte("client,label,x\n\"" + strings.Repeat("\n", 1<<16)))
	f.Add([]byte(strings.Repeat("x", 1<<16)))
	f.Add([]byte("# generated by fedsim"))
	f.Add([]byte("# generated by fedsim\r\ntask,label,x\n1,1,2\n2,-1,3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, change := range []func(*Config){
			func(*Config) {},
			func(c *Config) { c.Target = TargetReal },
			func(c *Config) { c.Target, c.Missing = TargetClasses, MissingDrop },
			func(c *Config) { c.Target, c.Missing = TargetClasses, MissingMean },
			func(c *Config) {
				c.Target, c.Missing, c.Columns, c.DropColumns = TargetReal, MissingMean, NamesOf("x*"), NamesOf("y")
			},
		} {
			set, err := parseFrom(bytes.NewReader(text), "in.csv", change)
			if refused(t, err) {
				continue
			}
			if set.Missing.Values == 0 || set.Missing.Dropped {
				checkShape(t, set)
			}
			var file bytes.Buffer
			expect.NoError(t, WriteCSV(&file, set))
			back, err := parseFrom(&file, "back", change, func(c *Config) { c.DropColumns = "" })
			expect.NoError(t, err)
			requireSameBits(t, set, back)
			diff := cmp.Diff(set.Classes, back.Classes)
			expect.Must(t, diff == "", "%v", diff)
		}
	})
}

func BenchmarkReadCSV(b *testing.B) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 50, 40, 60, 180
	set := expect.Value(Load(cfg))(b)
	var file bytes.Buffer
	expect.NoError(b, WriteCSV(&file, set))
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		expect.Value(parseFrom(bytes.NewReader(file.Bytes()), "in.csv"))(b)
	}
}
