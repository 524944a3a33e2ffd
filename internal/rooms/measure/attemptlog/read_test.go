package attemptlog

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// realLogs returns the paths of real logs. It skips the test if there are none.
func realLogs(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.Getenv("FEDSIM_DATA"), "logs", pattern))
	if os.Getenv("FEDSIM_DATA") == "" || err != nil || len(paths) == 0 {
		t.Skip("no real logs: FEDSIM_DATA must name the folder with logs/" + pattern)
	}
	return paths
}

func TestRealLogs(t *testing.T) {
	for pattern, want := range map[string]struct{ runs, rows int }{
		"cal*.csv": {3, 240}, "disturbed_cal*.csv": {3, 240}, "paced_cal*.csv": {3, 120}, "flower*.csv": {1, 24},
	} {
		log := expect.Value(Read(realLogs(t, pattern)...))(t)
		rows := 0
		for _, r := range log.Runs {
			rows += len(r.Attempts)
		}
		expect.That(t, len(log.Runs) == want.runs && rows == want.rows && len(log.Notes) == 0,
			"%s: %d runs of %d rows, notes %s", pattern, len(log.Runs), rows, strings.Join(log.Notes, "\n"))
	}
}

// A footer that is longer than its file, from 112 bytes, must not take memory.
func TestLogWithoutFooter(t *testing.T) {
	path := file(t, "x.parquet", "PAR1"+strings.Repeat("x", 100)+"\x00\x00\x00\xf0PAR1")
	_, err := Read(path)
	expect.That(t, err != nil && err.Error() == path+": is not a complete parquet file", "%v", err)
}

// An index of pandas is left out, a column of the log that is its index is not.
func TestLogOfPandas(t *testing.T) {
	type row struct {
		Index  int64   `parquet:"__index_level_0__"`
		Client string  `parquet:"client"`
		Round  int64   `parquet:"round"`
		Down   float64 `parquet:"bytes_down"`
		Up     float64 `parquet:"bytes_up"`
		Sent   float64 `parquet:"sent_s"`
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	for metadata, want := range map[string]string{
		`{"index_columns": ["__index_level_0__", "client"]}`: "",
		`{"index_columns": []}`: "x.parquet: the column \"__index_level_0__\" is an " +
			"index of pandas: write the log with index=False",
	} {
		expect.NoError(t,
			parquet.WriteFile(path, []row{{5, "a", 0, 1, 2, 3}}, parquet.KeyValueMetadata("pandas", metadata)))
		log, err := Read(path)
		switch {
		case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)):
			t.Errorf("%v, want %s", err, want)
		case want == "" && (err != nil || log.Runs[0].Attempts[0].Client != "a" || log.Runs[0].Attempts[0].Sent != 3):
			t.Errorf("%+v, %v", log, err)
		}
	}
	if _, err := Read(file(t, "x.csv", ","+header+"0,0,a,1,1,0,1,1\n")); err == nil ||
		!strings.HasSuffix(err.Error(),
			"x.csv: the column \"Unnamed: 0\" is an index of pandas: write the log with index=False") {
		t.Errorf("%v", err)
	}
}

// Rows of a log may be in any order: the attempts, and the idle times of the clients of Flower, are those of the sorted
// log. Tables by device are refused in another order, with the line.
func TestLogsInAnyOrder(t *testing.T) {
	whole := string(filetest.Read(t, realLogs(t, "flower*.csv")[0]))
	var comments, rows []string
	for _, line := range strings.Split(strings.TrimSpace(whole), "\n") {
		if strings.HasPrefix(line, "#") || len(rows) == 0 && strings.Contains(line, "pushed_s") {
			comments = append(comments, line)
		} else {
			rows = append(rows, line)
		}
	}
	sorted := expect.Value(Read(file(t, "x.csv", whole)))(t)
	slices.Reverse(rows)
	reversed := expect.Value(Read(file(t, "x.csv", strings.Join(append(comments, rows...), "\n"))))(t)
	for i, round := range sorted.Runs[0].Rounds() {
		for _, a := range round {
			other := reversed.Runs[0].Rounds()[i]
			b := other[slices.IndexFunc(other, func(b *Attempt) bool { return b.Client == a.Client })]
			same := a.Idle == b.Idle || math.IsNaN(a.Idle) && math.IsNaN(b.Idle)
			expect.Must(t, same && a.Seen == b.Seen, "round %d: %+v, want %+v", i, *b, *a)
		}
	}
	const devices = "run,round,time_s,algorithm,device,attempts,responses,late,steps,flops,bytes_down,bytes_up," +
		"downlink_s,compute_s,uplink_s,response_s\n"
	row := func(run string, round, end int) string {
		return fmt.Sprintf("%s,%d,%d,fedavg,0,1,1,0,1,1,1,1,1,1,1,3\n", run, round, end)
	}
	for text, want := range map[string]string{
		row("a", 1, 3) + row("a", 2, 6) + row("b", 1, 3): "",
		row("a", 2, 6) +
			row("a", 1, 3): "x.csv:3: round = 1: comes after 2: rounds of a run must be in order",
		row("a", 1, 3) + row("b", 1, 3) +
			row("a", 2, 6): "x.csv:4: run = a: must have all its rows one after the other",
	} {
		_, err := Read(file(t, "x.csv", devices+text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// file writes a file and returns its path.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

const header = "round,client,bytes_down,bytes_up,sent_s,seen_s,compute_s\n"

// Bad logs are refused with one line: file and line, column, value and what would be right.
func TestBadLogs(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"empty":   {"", "is empty: must have a header"},
		"no rows": {header, "has no rows: must have one for each attempt"},
		"misspelled": {"round,client,bytes_down,byte_up,sent_s\n",
			"unknown column byte_up: did you mean bytes_up?"},
		"unknown":        {"round,client,bytes_down,bytes_up,sent_s,weather\n", "unknown column weather"},
		"missing":        {"round,client,bytes_down,bytes_up\n", "has no column sent_s"},
		"twice a column": {"round,client,bytes_down,bytes_up,sent_s,sent_s\n", "two columns are named sent_s"},
		"no number":      {header + "0,a,x,1,0,1,1\n", "x.csv:2: bytes_down = x: must be a finite number"},
		"not a number":   {header + "0,a,NaN,1,0,1,1\n", "x.csv:2: bytes_down = NaN: must not be empty"},
		"infinite":       {header + "0,a,inf,1,0,1,1\n", "x.csv:2: bytes_down = inf: must be a finite number"},
		"separators":     {header + "0,a,1_000,1,0,1,1\n", "x.csv:2: bytes_down = 1_000: must be a finite number"},
		"hexadecimal":    {header + "0,a,1,1,0,0x1p4,1\n", "x.csv:2: seen_s = 0x1p4: must be a finite number"},
		"negative":       {header + "0,a,1,1,0,1,-1\n", "x.csv:2: compute_s = -1: must not be negative"},
		"half a round":   {header + "0.5,a,1,1,0,1,1\n", "x.csv:2: round = 0.5: must be a whole number"},
		"no client":      {header + "0,,1,1,0,1,1\n", "x.csv:2: client: must not be empty"},
		"backward": {header + "0,a,1,1,5,3,1\n",
			"x.csv:2: seen_s = 3: must be at least sent_s = 5: the server's clock runs backward"},
		"midnight": {header + "0,a,1,1,86390,86395,1\n\n# a comment\n1,a,1,1,4,9,1\n",
			"x.csv:5: sent_s = 4: must be at least 86390, when round 0 began: the server's clock runs backward (at " +
				"midnight?"},
		"twice a row": {header + "0,a,1,1,0,2,1\n0,b,1,1,0,2,1\n0,a,1,1,0,2,1\n",
			"x.csv:4: client = a: must have one row for an attempt: "},
		"overlapping": {header + "0,a,1,1,0,2,1\n0,a,1,1,1,3,1\n",
			"x.csv:3: client = a: must have one row for an attempt: "},
		"milliseconds": {header + "0,a,1,1,0,2,1500\n1,a,1,1,3,5,1500\n",
			"compute_s = 1500 (median): attempts take 2 from sent_s to seen_s: is the column in milliseconds, " +
				"a factor of 1000?"},
		"outcome": {"round,client,bytes_down,bytes_up,sent_s,outcome\n0,a,1,1,0,gone\n",
			"x.csv:2: outcome = gone: must be one of taken, late, failed, lost"},
		"taken without": {"round,client,bytes_down,bytes_up,sent_s,outcome\n0,a,1,1,0,taken\n",
			"x.csv:2: outcome = taken: must be failed or lost, or seen_s must be there"},
		"a marker": {header + "0,None,1,1,0,1,1\n", "x.csv:2: client = None: must not be empty"},
		"long client": {header + "0," + strings.Repeat("x", 201) + ",1,1,0,1,1\n",
			"x.csv:2: client = " + strings.Repeat("x", 80) + "...: has 201 characters, must have at most 200"},
		"long run": {"run," + header + strings.Repeat("x", 201) + ",0,a,1,1,0,1,1\n",
			"x.csv:2: run = " + strings.Repeat("x", 80) + "...: has 201 characters, must have at most 200"},
		"utf-16": {"r\x00o\x00u\x00", "is text in UTF-16 or UTF-32: save it as UTF-8"},
		"carriage returns": {strings.ReplaceAll(header+"0,a,1,1,0,1,1\n", "\n", "\r"),
			"has lines that end in a carriage return alone"},
		"too few cells": {header + "0,a,1\n", "x.csv:2: wrong number of fields"},
		"reply before": {"round,client,bytes_down,bytes_up,sent_s,reply_first_s,seen_s\n0,a,1,1,2,1,3\n",
			"x.csv:2: reply_first_s = 1: must be from sent_s = 2 to seen_s = 3"},
		"setting": {"#! federation.protocol = first\n" + header + "0,a,1,1,0,1,1\n", "x.csv:1:1:"},
		"rig, no rounds": {"#{}\nclient,first_byte_s,download_s,upload_start_s,reply_seen_s\n1,1,1,1,1\n",
			"round: must not be empty"},
		"rig without json": {"client,first_byte_s,download_s,upload_start_s,reply_seen_s\n",
			"must be a comment with the configuration in JSON"},
	} {
		log, err := Read(file(t, "x.csv", c.log))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v (%v), must have %q", name, err, log, c.want)
		} else if strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: has more than one line: %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "no.csv")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// What is unusual is noted aloud.
func TestNotes(t *testing.T) {
	const rates = "round,client,bytes_down,bytes_up,sent_s,reply_first_s,seen_s,receive_s,down_mbps,up_mbps\n"
	for name, c := range map[string]struct{ log, want string }{
		"empty round": {header + "0,a,1,1,0,1,1\n3,a,1,1,2,3,1\n",
			"round 1 has no rows, like 1 others: an empty round is not fitted"},
		"suspended": {header + "0,a,1,1,0,1,1\n1,a,1,1,7200,7201,1\n",
			"nothing happens for 7199 s from 1 on: a suspended machine?"},
		"server's ms": {header + "0,a,1,1,0,1000,1\n1,a,1,1,1000,2000,1\n",
			"suspected milliseconds in sent_s and seen_s"},
		"kilobits": {rates + "0,a,1e6,1e6,0,1,2,1,8000,8\n",
			"receive_s takes 1000 times what down_mbps implies: suspected mixed units, a factor of 1000"},
		"kilobytes": {rates + "0,a,1e6,1e3,0,1,2,1,8,8\n",
			"seen_s - reply_first_s takes 1000 times what up_mbps implies"},
	} {
		log, err := Read(file(t, "x.csv", c.log))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(strings.Join(log.Notes, "\n"), c.want) {
			t.Errorf("%s: the notes are %q, must have %q", name, log.Notes, c.want)
		}
	}
}

// Defaults: run, kind, steps and outcome. A second attempt after the first is allowed.
func TestDefaults(t *testing.T) {
	log := expect.Value(Read(file(t, "mine.csv", `# a comment
#! federation.protocol = "first"
#! federation.clients_per_round = 2
round,client,bytes_down,bytes_up,examples,epochs,batch,sent_s,seen_s
0,10,1,1,100,2,32,-5,-4
0,2,1,1,,,,-5,
0,2,1,1,,,,-3,-2
`)))(t)
	run := log.Runs[0]
	if run.Name != "mine" || run.Setting("federation.clients_per_round") != int64(2) || run.Attempts[0].Kind != Train ||
		run.Attempts[0].Steps != 8 || run.Attempts[0].Outcome != Taken || run.Attempts[1].Outcome != Lost ||
		!math.IsNaN(run.Attempts[1].Steps) {
		t.Errorf("%+v", run)
	}
	if diff := cmp.Diff([]string{"2", "10"}, run.Clients()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`federation.protocol="first"`, "federation.clients_per_round=2"},
		run.Overrides()); diff != "" {
		t.Error(diff)
	}
}

// place is where a row is, not what it says.
var places = cmpopts.IgnoreFields(Attempt{}, "File", "Line")

// A log that is written reads back: every column, as csv and as parquet.
func TestRoundTrip(t *testing.T) {
	a := Attempt{Round: 3, Client: "a, b", Class: "phone", Kind: "evaluate", Outcome: Late}
	for i, c := range Columns {
		if x, ok := c.Field(&a).(*float64); ok {
			*x = float64(i) + 0.1
		}
	}
	a.Sent, a.ReplyFirst, a.Seen = 1e9+0.125, 1e9+100.5, 1e9+123.456789
	b := absent
	b.Client, b.BytesDown, b.BytesUp, b.Sent = "c", 1, 0, 1e9+200
	b.complete()
	b.Round = 4
	log := expect.Value(Read(file(t, "r.csv", "#! federation.deadline_s = 2.5\n"+header+"0,a,1,1,0,1,1\n")))(t)
	want := &Run{Name: "r", Attempts: []Attempt{a, b}, Settings: log.Runs[0].Settings}
	var text bytes.Buffer
	expect.NoError(t, writeCSV(&text, want))
	for name, path := range map[string]string{"csv": file(t, "w.csv", text.String()),
		"parquet": asParquet(t, text.String())} {
		got, err := Read(path)
		expect.Must(t, err == nil, "%s: %v\n%s", name, err, text.String())
		diff := cmp.Diff(want.Attempts, got.Runs[0].Attempts, cmpopts.EquateNaNs(), places)
		expect.That(t, diff == "", "%s: %s", name, diff)
		expect.That(t, got.Runs[0].Name == "r" && got.Runs[0].Setting("federation.deadline_s") == 2.5,
			"%s: %+v", name, got.Runs[0])
	}
}

// asParquet writes a log of texts and numbers as parquet, and returns its path.
func asParquet(t *testing.T, text string) string {
	t.Helper()
	var settings []string
	var names []string
	group := parquet.Group{}
	texts := []string{"run", "client", "class", "kind", "outcome"}
	var rows []parquet.Row
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if s, ok := strings.CutPrefix(line, settingMark); ok {
			settings = append(settings, s)
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `"a, b"`, "a; b"), ",")
		if names == nil {
			names = cells
			for _, n := range names {
				node := parquet.Leaf(parquet.DoubleType)
				if slices.Contains(texts, n) {
					node = parquet.String()
				} else if n == "round" {
					node = parquet.Int(32)
				}
				group[n] = parquet.Optional(node)
			}
			continue
		}
		row := make(parquet.Row, len(names))
		for at, name := range slices.Sorted(maps.Keys(group)) { // a group has its columns in this order
			cell := strings.ReplaceAll(cells[slices.Index(names, name)], ";", ",")
			x, _ := strconv.ParseFloat(cell, 64)
			switch {
			case cell == "":
				row[at] = parquet.NullValue().Level(0, 0, at)
			case slices.Contains(texts, name):
				row[at] = parquet.ByteArrayValue([]byte(cell)).Level(0, 1, at)
			case name == "round":
				row[at] = parquet.Int32Value(int32(x)).Level(0, 1, at)
			default:
				row[at] = parquet.DoubleValue(x).Level(0, 1, at)
			}
		}
		rows = append(rows, row)
	}
	path := filepath.Join(t.TempDir(), "w.parquet")
	out := expect.Value(os.Create(path))(t)
	w := parquet.NewWriter(out, parquet.NewSchema("log", group),
		parquet.KeyValueMetadata(settingsKey, strings.Join(settings, "\n")))
	expect.Value(w.WriteRows(rows))(t)
	expect.NoError(t, w.Close())
	expect.NoError(t, out.Close())
	return path
}

// A corrupt parquet file is an error, wherever it ends.
func TestCorruptParquet(t *testing.T) {
	whole := expect.Value(os.ReadFile(asParquet(t, header+"0,a,1,1,0,1,1\n")))(t)
	for n := 0; n < len(whole); n += 7 {
		_, err := Read(file(t, "x.parquet", string(whole[:n])))
		expect.That(t, err != nil, "the first %d bytes of %d are a log", n, len(whole))
	}
}

// The importer of the rig's layout has rates and speeds from the configuration, and one of Flower
// the polls that see replies.
func TestImporters(t *testing.T) {
	log :=
		expect.Value(
			Read(
				file(t, "x.csv",
					`# {"name": "one", "clients": [{"id": 7, "down": 2, "up": 3, "cpu": 0.5, "examples": 8}, {"id": 8, "down": 2, "up": 3, "cpu": 0.5, "pace": [0.1, 0.2, 1e-10]}]}
client,round,bytes_down,bytes_up,examples,epochs,batch,steps,flops,sent_s,first_byte_s,download_s,compute_s,upload_start_s,cpu_s,reply_first_s,reply_seen_s,accepted
7,0,10,20,8,1,4,2,96,1,1.5,0.25,0.5,1,0.4,2.5,3,1
8,0,10,20,8,1,4,2,96,1,1.5,0.25,0.5,1,0.4,2.5,4,0
`)))(t)
	a, b := log.Runs[0].Attempts[0], log.Runs[0].Attempts[1]
	if log.Runs[0].Name != "x" || a.Client != "7" || a.Receive != 0.25 || a.Wait != 0.25 || a.Compute != 0.5 ||
		a.ReplyFirst != 2.5 || a.Seen != 3 ||
		a.DownMbps != 2 || a.UpMbps != 3 || a.GFLOPS != 0.5*rigCore || a.FLOPs != 96 || a.CPU != 0.4 ||
		a.Outcome != Taken {
		t.Errorf("%+v", a)
	}
	expect.That(t, b.GFLOPS == 10 && b.Outcome == Late, "%+v", b)
	log = expect.Value(Read(file(t, "x.csv", `# work 1, 2 s, model 1.5 MB; 2 rounds
# server polls a round (start:end:replies): 0.1:0.2:0;3.1:3.2:1;6.1:6.2:1 | 7.0:7.1:2
client,round,sent_s,pushed_s,received_s,fetched_s,born_s,imported_s,work_start_s,work_end_s,reply_send_s,reply_sent_s,round_end_s,process_cpu_s
1,0,0,0.1,1,1.25,1.5,1.75,2,5,5.25,5.5,6.2,0.5
2,0,0,0.1,1,1.25,1.5,1.75,2,2.5,2.75,3,6.2,0.5
1,1,6.5,6.6,6.625,6.75,6.75,6.75,6.75,6.8,6.8,6.9,7.1,0.5
2,1,6.5,6.6,6.625,6.75,6.75,6.75,6.75,6.8,6.8,6.9,7.1,0.5
`)))(t)
	first, second, next := log.Runs[0].Attempts[0], log.Runs[0].Attempts[1], log.Runs[0].Attempts[2]
	if first.Seen != 6.2 || second.Seen != 3.2 || next.Seen != 7.1 || !math.IsNaN(first.Idle) ||
		next.Idle != 6.625-5.5 || first.Receive != 0.25 ||
		first.Wait != 0.75 || first.Compute != 3 || first.Reply != 0.5 || first.BytesDown != 1.5e6 ||
		second.FLOPs != 2e9 || second.GFLOPS != 1 {
		t.Errorf("%+v\n%+v\n%+v", first, second, next)
	}
}

// Numbers come before other names, so that the order of all three does not depend on the first one.
func TestOrderOfNames(t *testing.T) {
	want := []string{"2", "9", "10", "1a", "b"}
	for shift := range want {
		got := slices.Concat(want[shift:], want[:shift])
		slices.SortFunc(got, CompareNames)
		expect.That(t, slices.Equal(got, want), "from %s on: %v, want %v", want[shift], got, want)
	}
}
