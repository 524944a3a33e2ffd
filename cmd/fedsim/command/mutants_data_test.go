//go:build unix

package command

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// dataFile is a kind of file that fedsim reads besides scenarios.
type dataFile struct {
	name    string
	content []byte
	// mutate returns a mutant of the content; nil: any change of its bytes.
	mutate func(m *mutated, content []byte) []byte
	// commands returns commands that read the file; one of them is tested.
	commands func(path string) [][]string
}

const learners = `
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[run]
rounds = 2
[methods.mocha]
`

// run returns the command that runs learners with overrides.
func run(sets ...string) []string {
	args := []string{"run", "learners.toml", "--progress=none", "--workers=1"}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	return args
}

// dataFiles returns a file of each kind.
func dataFiles(t *testing.T) []dataFile {
	t.Helper()
	out := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		if status := execute(t.Context(), args, &out, &errs); status != 0 {
			t.Fatalf("%v: %s", args, errs.String())
		}
		return out.Bytes()
	}
	file := func(path string) []byte {
		t.Helper()
		content := filetest.Read(t, path)
		return content
	}
	quote := func(key, path string) string { return key + `="` + path + `"` }
	stats := func(path string) [][]string {
		return [][]string{
			{"trace", "stats", path},
			run(`traces.files=["`+path+`"]`, "federation.protocol=deadline", "federation.deadline_s=10",
				"devices.charging.watts=5"),
		}
	}
	describe := func(source, target, loss string, sets ...string) func(path string) [][]string {
		return func(path string) [][]string {
			from := append([]string{"data.source=" + source, "data.target=" + target, quote("data.path", path)},
				sets...)
			describe := []string{"data", "describe"}
			for _, set := range from {
				describe = append(describe, "--set", set)
			}
			return [][]string{describe, run(append(from, "problem.loss="+loss)...)}
		}
	}
	// saved returns a file of other software, which testdata has in base64.
	saved := func(name string) []byte {
		t.Helper()
		content :=
			expect.Value(
				base64.StdEncoding.DecodeString(
					strings.ReplaceAll(
						string(file(filepath.Join("..", "..", "..", "data", "testdata", "scipy", name+".b64"))), "\n",
						"")))(t)
		return content
	}
	fleet := out("fleet", "show", "mixed")
	omega := []byte("1,0.5,0.25\n0.5,1,0.5\n0.25,0.5,1\n")
	files := []dataFile{
		{"labels.csv",
			out("data", "generate", "--set", "data.synthetic.clients=4", "--set", "data.synthetic.features=3", "--set",
				"data.synthetic.rows_max=8", "--set", "data.synthetic.rows_min=8", "--set", "data.synthetic.factors=2"),
			nil, describe("csv", "class", "hinge")},
		{"targets.csv",
			out("data", "generate", "--set", "data.target=real", "--set", "data.synthetic.clients=4", "--set",
				"data.synthetic.features=3", "--set", "data.synthetic.rows_max=8", "--set", "data.synthetic.rows_min=8",
				"--set", "data.synthetic.factors=2"), nil, describe("csv", "real", "squared")},
		{"har.zip", tinyHAR(t, nil), mutateZip, describe("uci-har", "class", "logistic")},
		{"table.csv", []byte(tableFile), nil,
			describe("csv", "classes", "hinge", "data.client_column=site", "data.label_column=kind",
				"data.missing=mean", "data.columns=s_*")},
		{"table.csv.gz", gzipped(t, tableFile), nil,
			describe("csv", "classes", "hinge", `data.client_column=""`, "data.label_column=kind", "data.missing=drop",
				`data.drop_columns=["note", "site"]`)},
		{"leaf.json", []byte(leafFile), nil, describe("leaf", "class", "hinge")},
		{"rows.txt", []byte(libsvmFile), nil, describe("libsvm", "class", "hinge")},
		{"cells.mat", saved("u1.mat"), nil, describe("matlab", "real", "squared")},
		{"matrix.mat", saved("matrix.mat"), nil,
			describe("matlab", "real", "squared", "data.arrays.features=features", "data.arrays.targets=labels",
				"data.arrays.clients=school")},
		{"arrays.npz", saved("arrays.npz"), nil, describe("npz", "class", "hinge")},
		{"arrow.parquet", saved("arrow.parquet"), nil, describe("parquet", "class", "hinge", "data.missing=drop")},
		{"images-idx3", []byte("\x00\x00\x08\x03\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x01abcdef"), mutateImages,
			describe("idx", "classes", "hinge")},
		{"week.csv", out("trace", "synthesize", "--devices", "4", "--days", "1", "--seed", "1"), nil, stats},
		{"fleet.toml", fleet, nil, func(path string) [][]string {
			return [][]string{{"fleet", "describe", path}, run(quote("fleet.name", path))}
		}},
		{"omega.csv", omega, nil, func(path string) [][]string {
			return [][]string{run("problem.regularizer=mean", quote("problem.regularizer_options.omega_file", path))}
		}},
	}
	return files
}

const libsvmFile = "+1 qid:1 1:0.5 3:-2 # end\n-1 qid:1 2:1e-3 40:4\n+1 qid:2 1:1\n-1 qid:2 2:3 39:1.5\n" +
	"-1 qid:1 7:1\n+1 qid:2 2:2 40:1\n"

const leafFile = `{"users": ["a", "b"], "num_samples": [3, 4], "hierarchies": [], "user_data":
{"a": {"x": [[1, 2.5], [[-3], [4e-1]], [0, 1]], "y": [1, -1, [1]]}, "b": {"y": [-1, 1, -1, 1], "x": [[0, 1], [1, 0], [2, 2], [3, 1]]}}}`

// tableFile has labels of three classes, missing values and a column of text.
const tableFile = "site;kind;s_1;note;s_2\nn;a;1;x;2\nn;b;?;y;3\ns;c;4;z;NA\ns;a;5;;7\nn;c;0.5;x;1\ns;b;1e2;;-3\n"

// labelsFile has the labels of images-idx3.
const labelsFile = "\x00\x00\x08\x01\x00\x00\x00\x03\x07\x02\x07"

// mutateImages writes the file of the labels, and changes it or the images.
func mutateImages(m *mutated, content []byte) []byte {
	labels := []byte(labelsFile)
	if m.random.IntN(3) == 0 {
		labels = mutate(m.random, labels)
	} else {
		content = mutate(m.random, content)
	}
	m.write("labels-idx1", labels)
	return content
}

// gzipped returns a text packed by gzip.
func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	expect.Value(w.Write([]byte(text)))(t)
	expect.NoError(t, w.Close())
	return packed.Bytes()
}

// tinyHAR returns an archive in the format of UCI HAR; change may change its files.
func tinyHAR(t *testing.T, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, f := range [][2]string{
		{"features.txt", "1 mean-X\n2 energy\n3 energy\n"},
		{"activity_labels.txt", "1 WALKING\n4 SITTING\n5 STANDING\n"},
		{"train/X_train.txt", "  1.0000000e-001 -2.0000000e+000  3\n  4 5 6\n 1 2 3\n 4 3 2\n"},
		{"train/y_train.txt", "4\n1\n5\n4\n"},
		{"train/subject_train.txt", "10\n2\n10\n2\n"},
		{"test/X_test.txt", " 7 8 9\n 1 0 1\n"},
		{"test/y_test.txt", "4\n1\n"},
		{"test/subject_test.txt", "2\n10\n"},
	} {
		content := []byte(f[1])
		if change != nil {
			content = change(f[0], content)
		}
		if content == nil {
			continue
		}
		file := expect.Value(w.Create("UCI HAR Dataset/" + f[0]))(t)
		expect.Value(file.Write(content))(t)
	}
	expect.NoError(t, w.Close())
	return packed.Bytes()
}

// mutateZip changes the archive, the recorded sizes of its files, or a file in it, or
// removes a file.
func mutateZip(m *mutated, content []byte) []byte {
	switch m.random.IntN(4) {
	case 0:
		return mutate(m.random, content)
	case 1:
		content = bytes.Clone(content)
		if at := bytes.Index(content[m.random.IntN(len(content)):], []byte("PK\x01\x02")); at >= 0 &&
			at+28 < len(content) {
			binary.LittleEndian.PutUint32(content[at+20+4*m.random.IntN(2):], m.random.Uint32())
		}
		return content
	default:
		which, missing := m.random.IntN(8), m.random.IntN(8) == 0
		i := -1
		return tinyHAR(m.T, func(_ string, content []byte) []byte {
			if i++; i != which {
				return content
			}
			if missing {
				return nil
			}
			return mutate(m.random, content)
		})
	}
}

// A mutated file of data, traces or devices is read, or rejected with its name. Output
// files are complete or absent.
func TestMutantData(t *testing.T) {
	files := dataFiles(t)
	t.Chdir(t.TempDir())
	filetest.Write(t, "learners.toml", learners)
	forMutants(t, 2, *mutants, func(m *mutated) {
		f := files[m.random.IntN(len(files))]
		content := f.content
		if f.mutate != nil {
			content = f.mutate(m, content)
		} else {
			content = mutate(m.random, content)
		}
		path := m.write(f.name, content)
		commands := f.commands(path)
		args := commands[m.random.IntN(len(commands))]
		out := filepath.Join(m.dir, "run")
		if args[0] == "run" {
			args = append(slices.Clone(args), "--out", out)
		}
		status, stderr := m.fedsim(args...)
		if (status == exitFailed || status == exitUsage) && !strings.Contains(stderr, path) &&
			!strings.Contains(stderr, "labels-idx1") {
			m.report("%v: the error does not name the file: %s", args, stderr)
		}
		if args[0] == "run" {
			m.requireWhole(out, status, stderr)
			return
		}
		left := expect.Value(filepath.Glob(filepath.Join(m.dir, "*")))(m)
		left2, _ := filepath.Glob(filepath.Join(m.dir, ".*"))
		left = slices.DeleteFunc(left, func(name string) bool { return filepath.Base(name) == "labels-idx1" })
		if n := len(left) + len(left2); status != exitDone && n > 1 || n > 2 {
			m.report("%v: status %d, and files %v %v", args, status, left, left2)
		}
	})
}
