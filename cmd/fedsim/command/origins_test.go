package command

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"fedsim/internal/tools/filetest"
)

// Every file of text that a command names may begin with the mark of UTF-8. In UTF-16, and with lines that end in a
// carriage return alone, it is refused in one line that names it.
func TestFilesOfOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "small.toml")
	filetest.Write(t, scenario, "[data.synthetic]\nclients = 4\n[run]\nrounds = 1\n[methods.fedavg]\n")
	run := func(set ...string) func(string) []string {
		return func(file string) []string {
			args := []string{"run", scenario, "--no-figures", "--force", "--out", filepath.Join(dir, "run")}
			for _, s := range set {
				args = append(args, "--set", strings.ReplaceAll(s, "FILE", file))
			}
			return args
		}
	}
	const maps = "Datetime (UTC),Zone id,Carbon intensity gCO₂eq/kWh (Life cycle)\n2024-10-27 00:00:00,DE,300\n" +
		"2024-10-27 01:00:00,DE,301\n"
	for name, c := range map[string]struct {
		text string
		args func(file string) []string
	}{
		"small.toml": {"[run]\nrounds = 1\n[data.synthetic]\nclients = 4\n[methods.fedavg]\n",
			func(file string) []string {
				return []string{"run", file, "--no-figures", "--force", "--out", filepath.Join(dir, "run")}
			}},
		"fleet.csv": {"name,share,device,link\na,0.5,phone-2017,lte\nb,0.5,phone-2020,wifi\n",
			run(`fleet.name="FILE"`)},
		"fleet.toml": {"[[class]]\nname = \"a\"\nshare = 1.0\ndevice = \"phone-2017\"\nlink = \"lte\"\n",
			run(`fleet.name="FILE"`)},
		"edges": {"0 1\n1 2\n2 3\n3 0\n",
			run(`methods.fedavg.algorithm="gossip"`,
				`methods.fedavg.options.graph="FILE"`)},
		"grid.csv":  {maps, run(`energy.grid=["FILE"]`)},
		"trace.csv": {"device,time_s,kind,value\na,0,available,1\na,9,end,\n", run(`traces.files=["FILE"]`)},
	} {
		path := filepath.Join(dir, "other-"+name)
		do := func(text string) (int, string) {
			filetest.Write(t, path, text)
			var out, failed strings.Builder
			code := execute(t.Context(), c.args(path), &out, &failed)
			return code, failed.String()
		}
		if code, failed := do("\ufeff" + c.text); code != 0 {
			t.Errorf("%s with a mark: exit %d, %s", name, code, failed)
		}
		var wide strings.Builder
		for _, unit := range utf16.Encode([]rune(c.text)) {
			wide.Write([]byte{byte(unit), byte(unit >> 8)})
		}
		for want, text := range map[string]string{
			"is text in UTF-16 or UTF-32: save it as UTF-8": wide.String(),
			"has lines that end in a carriage return alone": strings.ReplaceAll(c.text, "\n", "\r"),
		} {
			if code, failed := do(text); code == 0 || !strings.Contains(failed, want) ||
				strings.Count(failed, "\n") != 1 || !strings.Contains(failed, "other-"+name) {
				t.Errorf("%s: exit %d, %q, want %s", name, code, failed, want)
			}
		}
	}
}

// A footer of 112 bytes that is longer than its file is an error of one line in all commands that read logs.
func TestLogWithoutFooter(t *testing.T) {
	dir := t.TempDir()
	log, bomb, fitted := filepath.Join(dir, "log.csv"), filepath.Join(dir, "bomb.parquet"), filepath.Join(dir, "fitted")
	filetest.Write(t, log, "round,client,bytes_down,bytes_up,sent_s,seen_s,compute_s\n0,a,1e6,1e6,0,3,1\n"+
		"0,b,1e6,1e6,0,4,2\n1,a,1e6,1e6,5,8,1\n1,b,1e6,1e6,5,9,2\n2,a,1e6,1e6,10,13,1\n2,b,1e6,1e6,10,14,2\n")
	filetest.Write(t, bomb, "PAR1"+strings.Repeat("x", 100)+"\x00\x00\x00\xf0PAR1")
	var out, failed strings.Builder
	if code := execute(t.Context(), []string{"calibrate", log, "-o", fitted}, &out, &failed); code != 0 {
		t.Fatal(failed.String())
	}
	for _, args := range [][]string{{"calibrate", bomb, "-o", filepath.Join(dir, "x")},
		{"calibrate", "--check", bomb, "--with", fitted}} {
		var failed strings.Builder
		code := execute(t.Context(), args, &out, &failed)
		if want := bomb + ": is not a complete parquet file\n"; code == 0 || failed.String() != want {
			t.Errorf("%s: exit %d, %q, want %q", args[0], code, failed.String(), want)
		}
	}
}
