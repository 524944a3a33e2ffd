package formats

import (
	"strings"
	"testing"
	"unicode/utf16"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// textSources loads a small set in each format of text, after a change of one of its files.
var textSources = map[string]func(t *testing.T, change func(string) string) (*data.Set, error){
	"csv": func(t *testing.T, change func(string) string) (*data.Set, error) {
		cfg := data.Defaults()
		cfg.Source, cfg.Path = data.SourceCSV, filetest.New(t, "x.csv", change("client,label,x\na,1,1\nb,2,2\n"))
		return data.Load(cfg)
	},
	"libsvm": func(t *testing.T, change func(string) string) (*data.Set, error) {
		return loadLIBSVM(t, change("1 qid:a 1:1\n2 qid:b 1:2\n"), data.TargetClass)
	},
	"leaf": func(t *testing.T, change func(string) string) (*data.Set, error) {
		return loadLEAF(
			filetest.New(t, "x.json",
				change("{\"users\": [\"a\", \"b\"],\n\"user_data\": {\"a\": {\"x\": [[1]], \"y\": [1]}, \"b\": "+
					"{\"x\": [[2]], \"y\": [2]}}}\n")), data.TargetClass)
	},
}

// Every text may begin with the mark of UTF-8, and is refused in one line in UTF-16 or with line
// ends of a carriage return alone.
func TestTextsOfOtherPrograms(t *testing.T) {
	utf16LE := func(text string) string {
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
			b.Write([]byte{byte(unit), byte(unit >> 8)})
		}
		return b.String()
	}
	for name, load := range textSources {
		set, err := load(t, func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") })
		if err != nil || len(set.Clients) != 2 || set.Clients[0].Name != "a" || set.Features != 1 ||
			set.Signs != [2]string{"1", "2"} {
			t.Errorf("%s with a mark: %+v, %v", name, set, err)
		}
		for want, change := range map[string]func(string) string{
			"is text in UTF-16 or UTF-32: save it as UTF-8": utf16LE,
			"has lines that end in a carriage return alone": func(text string) string {
				return strings.ReplaceAll(text, "\n", "\r")
			},
		} {
			if _, err := load(t, change); err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), t.TempDir()[:5]) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// Labels and features have decimal numbers alone.
func TestDecimalNumbersAlone(t *testing.T) {
	for _, number := range []string{"1_1", "2019_01", "0x1p-2", "0X1", "1e1_0"} {
		want := `"` + number + `" is not a number`
		if _, err := parseCSV(t, "client,label,x\na,1,"+number+"\na,2,1\n"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("csv: %v, want %s", err, want)
		}
		if _, err := loadLIBSVM(t, "1 1:"+number+"\n2 1:1\n", data.TargetClass); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("LIBSVM: %v, want %s", err, want)
		}
		if _, err := loadLIBSVM(t, number+" 1:1\n2 1:1\n", data.TargetReal); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("LIBSVM target: %v, want %s", err, want)
		}
	}
	set := expect.Value(parseCSV(t, "client,label,x\na,1_1,1\na,11,1\na,1_2,1\na,12,1\n",
		func(c *data.Config) { c.Target = data.TargetClasses }))(t)
	got := strings.Join(set.Classes, " ")
	expect.That(t, got == "11 12 1_1 1_2", "classes %s", got)
}

// Names are bounded where they are read, with their place.
func TestLongNames(t *testing.T) {
	fits, long := strings.Repeat("ä", 200), strings.Repeat("ä", 201)
	readers := map[string]func(name string) error{
		`in.csv:2:1: the client's name `: func(n string) error {
			_, err := parseCSV(t, "client,label,x\n"+n+",1,1\nb,2,2\n")
			return err
		},
		`in.csv:2:3: the label `: func(n string) error {
			_, err := parseCSV(t, "client,label,x\na,"+n+",1\nb,2,2\n")
			return err
		},
		`in.csv:1:14: the column's name `: func(n string) error {
			_, err := parseCSV(t, "client,label,"+n+"\na,1,1\nb,2,2\n")
			return err
		},
		`my.txt:1: the label `: func(n string) error {
			_, err := loadLIBSVM(t, n+" 1:1\n2 1:2\n", data.TargetClass)
			return err
		},
		`my.txt:1: the client's name `: func(n string) error {
			_, err := loadLIBSVM(t, "1 qid:"+n+" 1:1\n2 qid:b 1:2\n", data.TargetClass)
			return err
		},
		`x.json: the name of a user `: func(n string) error {
			_, err :=
				loadLEAF(
					filetest.New(t, "x.json",
						`{"users": ["`+n+`"], "user_data": {"`+n+`": {"x": [[1], [2]], "y": [1, 2]}}}`),
					data.TargetClass)
			return err
		},
	}
	for place, read := range readers {
		if err := read(fits); err != nil {
			t.Errorf("%s: %v", place, err)
		}
		if err := read(long); err == nil || !strings.Contains(err.Error(), place) ||
			!strings.Contains(err.Error(), `..." has 201 characters, must have at most 200`) || len(err.Error()) > 500 {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// A missing value is no name of a client where a format has no missing values.
func TestMissingClient(t *testing.T) {
	for _, name := range []string{"None", "<NA>", "nan", "NULL"} {
		_, err := loadLIBSVM(t, "1 qid:"+name+" 1:1\n2 qid:b 1:2\n", data.TargetClass)
		if want := `the client's name "` + name + `" is a missing value`; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
