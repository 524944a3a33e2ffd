package formats

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
)

// tinyHAR returns the files of a small data set: three features, subjects 10
// and 2, activities 1 and 4. Subject 2 has rows in both parts.
func tinyHAR() map[string]string {
	return map[string]string{
		"features.txt":            "1 mean-X\n2 energy\n3 energy\n",
		"activity_labels.txt":     "1 WALKING\n4 SITTING\n5 STANDING\n",
		"train/X_train.txt":       "  1.0000000e-001 -2.0000000e+000  3\n  4 5 6\n",
		"train/y_train.txt":       "4\n1\n",
		"train/subject_train.txt": "10\n2\n",
		"test/X_test.txt":         " 7 8 9",
		"test/y_test.txt":         "4\n",
		"test/subject_test.txt":   "2\n",
	}
}

// zipped packs files below a folder.
func zipped(t testing.TB, folder string, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file := expect.Value(w.Create(folder + name))(t)
		expect.Value(file.Write([]byte(files[name])))(t)
	}
	expect.NoError(t, w.Close())
	return packed.Bytes()
}

// unpacked writes files below folder in a new directory and returns that directory.
func unpacked(t testing.TB, folder string, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, folder, filepath.FromSlash(name))
		expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		filetest.Write(t, path, content)
	}
	return root
}

func TestReadHARLayouts(t *testing.T) {
	const folder = "UCI HAR Dataset"
	inner := zipped(t, folder+"/", tinyHAR())
	for name, path := range map[string]string{
		"zip":          filetest.New(t, "har.zip", inner),
		"zip of files": filetest.New(t, "har.zip", zipped(t, "", tinyHAR())),
		"zip in a zip": filetest.New(t, "har.zip",
			zipped(t, "", map[string]string{"UCI HAR Dataset.zip": string(inner), "UCI HAR Dataset.names": "x"})),
		"with mac junk": filetest.New(t, "har.zip",
			zipped(t, "",
				map[string]string{"UCI HAR Dataset.zip": string(inner), "__MACOSX/UCI HAR Dataset.zip": "junk"})),
		"folder": filepath.Join(unpacked(t, folder, tinyHAR()), folder),
		"parent": unpacked(t, folder, tinyHAR()),
	} {
		cfg := data.Defaults()
		cfg.Source, cfg.Path = data.SourceHAR, path
		set, err := data.Load(cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkShape(t, set)
		expect.That(t, set.Name == "uci-har (SITTING against the rest)" && !set.Generated,
			"%s: set %q, generated %v", name, set.Name, set.Generated)
		if diff := cmp.Diff([]string{"mean-X", "energy", "energy#2"}, set.FeatureNames); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		expect.Must(t, len(set.Clients) == 2 && set.Clients[0].Name == "2" && set.Clients[1].Name == "10",
			"%s: tasks %+v, want 2 and 10", name, set.Clients)
		two, ten := &set.Clients[0], &set.Clients[1]
		if diff := cmp.Diff([][]float64{{4, 5, 6}, {7, 8, 9}, {0.1, -2, 3}},
			[][]float64{two.X.Row(0), two.X.Row(1), ten.X.Row(0)}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([][]float64{{-1, 1}, {1}}, [][]float64{two.Y, ten.Y}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestReadHARErrors(t *testing.T) {
	for _, c := range []struct {
		file, content, want string // content replaces a file of tinyHAR; "-" removes it
	}{
		{"train/X_train.txt", "1 2 3\n4 5 x6\n", `har.zip/UCI HAR Dataset/train/X_train.txt:2:5: "x6" is not a number`},
		{"train/X_train.txt", "1 2 3\n4 nan 6\n",
			`har.zip/UCI HAR Dataset/train/X_train.txt:2:3: "nan" is not a finite number`},
		{"train/X_train.txt", "1 2 3\n   4 5\n",
			`har.zip/UCI HAR Dataset/train/X_train.txt:2: has 2 values, features.txt names 3`},
		{"train/X_train.txt", "1 2 3 4\n4 5 6\n",
			`har.zip/UCI HAR Dataset/train/X_train.txt:1:7: has more than the 3 values that features.txt names`},
		{"train/X_train.txt", "1.0 2.0 3.0\n",
			`har.zip/UCI HAR Dataset/train/X_train.txt: has 1 rows, y_train.txt has 2`},
		{"train/X_train.txt", "1 2 3\n4 5 6\n\n7 8 9\n",
			`har.zip/UCI HAR Dataset/train/X_train.txt:4: has more rows than the 2 of y_train.txt`},
		{"train/X_train.txt", "1 2 3",
			`har.zip/UCI HAR Dataset/train/X_train.txt: is too short to have 2 rows of 3 values`},
		{"train/X_train.txt", strings.Repeat(" ", 1<<17) + "1 2 3\n4 5 6\n",
			`har.zip/UCI HAR Dataset/train/X_train.txt:1: the line is too long for 3 values`},
		{"test/X_test.txt", "-", `har.zip/UCI HAR Dataset/test/X_test.txt: the file is missing: file does not exist`},
		{"train/X_train.txt", "-",
			`har.zip: has no train/X_train.txt, directly or in a folder: not the UCI HAR data set`},
		{"features.txt", "-", `har.zip/UCI HAR Dataset/features.txt: the file is missing: file does not exist`},
		{"features.txt", "\n",
			`har.zip/UCI HAR Dataset/features.txt: the file is empty: must have lines with a number and a name`},
		{"features.txt", "1 a\ntwo\n",
			`har.zip/UCI HAR Dataset/features.txt:2: "two" must be a number, a blank and a name`},
		{"features.txt", strings.Repeat("1 a\n", 1<<16+1),
			`har.zip/UCI HAR Dataset/features.txt: names 65537 features, at most 65536 are allowed`},
		{"train/y_train.txt", "4\n7\n",
			`har.zip/UCI HAR Dataset/train/y_train.txt:2:1: activity 7 is not in activity_labels.txt`},
		{"train/y_train.txt", "4\nfour\n",
			`har.zip/UCI HAR Dataset/train/y_train.txt:2:1: "four" is not a whole number`},
		{"train/y_train.txt", "4\n1\n1\n",
			`har.zip/UCI HAR Dataset/train/subject_train.txt: has 2 rows, y_train.txt has 3`},
		{"test/subject_test.txt", "-3\n",
			`har.zip/UCI HAR Dataset/test/subject_test.txt:1:1: subject -3 must not be negative`},
	} {
		files := tinyHAR()
		if c.content == "-" {
			delete(files, c.file)
		} else {
			files[c.file] = c.content
		}
		path := filetest.New(t, "har.zip", zipped(t, "UCI HAR Dataset/", files))
		_, err := readOneActivity(path, "SITTING")
		want := strings.TrimSuffix(path, "har.zip") + c.want
		expect.That(t, err != nil && err.Error() == want, "\n got %v\nwant %s", err, want)
		_, ok := errors.AsType[*data.ParseError](err)
		expect.That(t, ok, "%T is not a *ParseError", err)
	}
}

// With an error in both large files, the train file's is returned, whichever reader is
// faster.
func TestReadHARErrorOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	files := tinyHAR()
	files["train/X_train.txt"] = "1 2 3\n4 5 bad\n"
	files["test/X_test.txt"] = "bad 2 3\n"
	path := filetest.New(t, "har.zip", zipped(t, "", files))
	for _, workers := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(workers)
		for range 20 {
			if _, err := readOneActivity(path, "SITTING"); err == nil ||
				!strings.Contains(err.Error(), "X_train.txt:2:5") {
				t.Fatalf("error %v", err)
			}
		}
	}
}

func TestReadHARDamagedArchives(t *testing.T) {
	whole := zipped(t, "UCI HAR Dataset/", tinyHAR())
	path := filetest.New(t, "har.zip", whole[:len(whole)*2/3])
	_, err := readOneActivity(path, "SITTING")
	if want := path +
		": not a complete zip file: the download may be truncated: zip: not a valid zip file"; err == nil ||
		err.Error() != want {
		t.Errorf("truncated zip: %v", err)
	}
	expect.That(t, errors.Is(err, zip.ErrFormat), "%v does not wrap zip.ErrFormat", err)

	nested := zipped(t, "", map[string]string{"UCI HAR Dataset.zip": string(whole[:len(whole)/2])})
	path = filetest.New(t, "outer.zip", nested)
	_, err = readOneActivity(path, "SITTING")
	expect.That(t, err != nil && strings.HasPrefix(err.Error(), path+"/UCI HAR Dataset.zip: not a complete zip file"),
		"truncated inner zip: %v", err)

	// Stored, not deflated, so that one letter can be changed: only the checksum at the
	// end of the file detects it.
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, name := range []string{"features.txt", "activity_labels.txt", "train/X_train.txt", "train/y_train.txt",
		"train/subject_train.txt", "test/X_test.txt", "test/y_test.txt", "test/subject_test.txt"} {
		file := expect.Value(w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}))(t)
		expect.Value(file.Write([]byte(tinyHAR()[name])))(t)
	}
	expect.NoError(t, w.Close())
	damaged := bytes.Replace(packed.Bytes(), []byte("  4 5 6\n"), []byte("  4 5 7\n"), 1)
	path = filetest.New(t, "har.zip", damaged)
	_, err = readOneActivity(path, "SITTING")
	if !errors.Is(err, zip.ErrChecksum) ||
		!strings.Contains(err.Error(), "train/X_train.txt:3: cannot be read: the download may be corrupt") {
		t.Errorf("damaged zip: %v", err)
	}
}

func TestReadHARMissingOrAmbiguous(t *testing.T) {
	if _, err := readOneActivity(filepath.Join(t.TempDir(), "none.zip"), "SITTING"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing path: %v", err)
	}
	if _, err := readOneActivity(t.TempDir(), "SITTING"); err == nil ||
		!strings.Contains(err.Error(), "not the UCI HAR data set") {
		t.Errorf("empty folder: %v", err)
	}
	both := map[string]string{}
	for name, content := range tinyHAR() {
		both["a/"+name], both["b/"+name] = content, content
	}
	_, err := readOneActivity(filetest.New(t, "two.zip", zipped(t, "", both)), "SITTING")
	if err == nil ||
		!strings.HasSuffix(err.Error(),
			"two.zip: holds 2 data sets (a/train/X_train.txt, b/train/X_train.txt); give the folder of one") {
		t.Errorf("two data sets: %v", err)
	}
}

// A few bytes that claim a million rows of 65536 features must be rejected before memory
// is allocated for them.
func TestReadHARBoundsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	files := tinyHAR()
	files["features.txt"] = strings.Repeat("1 a\n", 1<<16)
	files["train/y_train.txt"] = strings.Repeat("4\n", 1<<20)
	files["train/subject_train.txt"] = strings.Repeat("2\n", 1<<20)
	_, err := readOneActivity(filetest.New(t, "har.zip", zipped(t, "", files)), "SITTING")
	if err == nil ||
		!strings.HasSuffix(err.Error(), "train/X_train.txt: is too short to have 1048576 rows of 65536 values") {
		t.Errorf("error %v", err)
	}
}

// Line breaks take almost no bytes in an archive and have no content.
func TestReadHARBoundsFiles(t *testing.T) {
	racetest.Skip(t, "compares errors of readers; shorter tests read in parallel")
	files := tinyHAR()
	files["train/X_train.txt"] += strings.Repeat("\n", 65<<20)
	_, err := readOneActivity(filetest.New(t, "har.zip", zipped(t, "", files)), "SITTING")
	if err == nil ||
		!strings.HasSuffix(err.Error(), "train/X_train.txt: has 68157484 bytes, too many for 2 rows of 3 values") {
		t.Errorf("features: %v", err)
	}
	files = tinyHAR()
	files["train/y_train.txt"] += strings.Repeat("\n", 65<<20)
	_, err = readOneActivity(filetest.New(t, "har.zip", zipped(t, "", files)), "SITTING")
	expect.That(t, err != nil && strings.HasSuffix(err.Error(), "train/y_train.txt: has more than 67108864 bytes"),
		"labels: %v", err)
}

func TestParseHARRowDoesNotAllocate(t *testing.T) {
	line := []byte("  1.3967866e-02   2.4339461e-02  -5.9807317e-02  -9.9796604e-01 1e-310\r\n")
	x := make([]float64, 5)
	if n := testing.AllocsPerRun(100, func() {
		if _, problem := parseHARRow(line, x); problem != "" {
			t.Error(problem)
		}
	}); n != 0 {
		t.Errorf("%v allocations a row, want none", n)
	}
}

// FuzzHAR changes the files of a small archive, or the archive's own bytes.
func FuzzHAR(f *testing.F) {
	tiny := tinyHAR()
	names := []string{"features.txt", "activity_labels.txt", "train/X_train.txt", "train/y_train.txt",
		"train/subject_train.txt"}
	f.Add(uint8(0), []byte(tiny[names[0]]))
	for i, name := range names {
		f.Add(uint8(i), []byte(tiny[name]))
		f.Add(uint8(i), []byte("1 a\n-1\n99999999999999999999 x\n1e999 nan 0x1p3"))
	}
	archive := zipped(f, "UCI HAR Dataset/", tiny)
	f.Add(uint8(255), archive)
	f.Add(uint8(255), archive[:len(archive)-10])
	f.Add(uint8(255), zipped(f, "", map[string]string{"UCI HAR Dataset.zip": string(archive)}))
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		if int(which) < len(names) {
			files := tinyHAR()
			files[names[which]] = string(content)
			content = zipped(t, "", files)
		}
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return // OpenFolder reports it
		}
		folder, err := locateHAR(&data.Folder{Files: archive, Name: "har.zip"})
		if err == nil {
			var set *data.Set
			if set, err = readHARFolder(folder); err == nil {
				checkShape(t, set)
				return
			}
		}
		_, ok := errors.AsType[*data.ParseError](err)
		expect.Must(t, ok, "%T %v is not a *ParseError", err, err)
	})
}

// readOneActivity reads an archive and gives one activity the label +1.
func readOneActivity(path, positive string) (*data.Set, error) {
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.PositiveClass = data.SourceHAR, path, positive
	return data.Load(cfg)
}

// The counts are those of the archive: 7415 + 2996 rows in train and test.
func TestRealHAR(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the whole set, as TestReadHARLayouts reads a small one")
	}
	set := expect.Value(readOneActivity(filetest.Real(t, "har.zip"), "SITTING"))(t)
	d := data.Describe(set)
	expect.That(t, d.Tasks == 30 && d.Features == 561 && d.Rows == 10411,
		"m = %d, d = %d, rows = %d, want 30, 561, 10411", d.Tasks, d.Features, d.Rows)
	// wc of subject_*.txt: subject 8 has 284 rows, 21 and 25 have 413.
	expect.That(t, d.RowsMin == 284 && d.RowsMax == 413, "task sizes %d to %d, want 284 to 413", d.RowsMin, d.RowsMax)
	// 1293 + 508 rows of y_*.txt are 4, SITTING.
	want := 1801.0 / 10411
	expect.That(t, d.PositiveShare == want, "positive share %v, want %v", d.PositiveShare, want)
	expect.That(t, d.OneClassTasks == 0, "%d tasks of one class, want none", d.OneClassTasks)
	// The first row of train/X_train.txt is subject 1's.
	if x := set.Clients[0].X.Row(0); set.Clients[0].Name != "1" || x[0] != 1.3967866e-02 || x[3] != -9.9796604e-01 {
		t.Errorf("task %s begins with %v", set.Clients[0].Name, x[:4])
	}
	t.Logf("\n%v", d)
}

func BenchmarkReadHAR(b *testing.B) {
	path := filetest.Real(b, "har.zip")
	for b.Loop() {
		expect.Value(readOneActivity(path, "SITTING"))(b)
	}
}

// Section 5.1: in the Human Activity data "we model each individual as a separate
// task and predict between sitting and the other activities", with 561 features.
func TestHumanActivityPredictsSittingPerPerson(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the whole set, as TestReadHARLayouts reads a small one")
	}
	cfg := data.Defaults()
	cfg.Source, cfg.Path = data.SourceHAR, filetest.Real(t, "har.zip")
	set := loaded(t, cfg)
	expect.That(t, set.Signs == [2]string{"the rest", "SITTING"}, "labels are %q", set.Signs)
	if d := data.Describe(set); d.Tasks != 30 || d.Features != 561 || d.OneClassTasks != 0 {
		t.Errorf("%d tasks, %d features, %d tasks of one class", d.Tasks, d.Features, d.OneClassTasks)
	}
}
