package attemptlog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// layout is another layout of a log, which is recognized by its header.
type layout struct {
	has    []string // columns that only this layout has all of
	start  func(t *table, found []comment) error
	row    func(t *table, a *Attempt) (run string, keep bool)
	finish func(t *table) // nil: nothing to do
}

var layouts = []layout{
	{has: []string{"first_byte_s", "download_s", "upload_start_s", "reply_seen_s"}, start: startRig, row: rigRow},
	{has: []string{"pushed_s", "received_s", "fetched_s", "work_start_s", "reply_sent_s"}, start: startFlower,
		row: flowerRow, finish: finishFlower},
	{has: []string{"device", "downlink_s", "compute_s", "uplink_s", "response_s"}, start: startDevices, row: devicesRow,
		finish: finishDevices},
}

// rig is the first comment of a log with download_s and upload_start_s: a configuration in JSON.
type rig struct {
	Clients []rigClient `json:"clients"`
}

type rigClient struct {
	ID   int       `json:"id"`
	Down float64   `json:"down"` // 10^6 bit/s
	Up   float64   `json:"up"`
	CPU  float64   `json:"cpu"`  // quota, as a share of a core
	Pace []float64 `json:"pace"` // s, s/step, s/FLOP of a paced computation
}

// rigCore is the nominal speed of a whole core in 10^9 FLOP/s, which a quota is a share of:
// 2.5 GHz with 32 operations of double precision a cycle.
const rigCore = 80

func startRig(t *table, found []comment) error {
	c := &rig{}
	if len(found) == 0 {
		return config.Errors{{Place: place(t.path, 1), Text: "must be a comment with the configuration in JSON"}}
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(found[0].text, "#")), c); err != nil {
		return config.Errors{
			{Place: place(t.path, found[0].line), Text: fmt.Sprintf("must have the configuration in JSON: %v", err)},
		}
	}
	t.state = c
	return nil
}

// rigRow reads a row of download_s, compute_s and upload_start_s. Its reply_s counts from the end
// of training to the first byte of the reply at the server plus the time to the last byte, since
// both ends have one clock.
func rigRow(t *table, a *Attempt) (string, bool) {
	c := t.state.(*rig)
	id := t.whole("client")
	a.Client = t.text(strconv.Itoa(id))
	a.Round = t.whole("round")
	for _, n := range []string{"bytes_down", "bytes_up", "examples", "epochs", "batch", "steps", "flops", "cpu_s"} {
		k := slices.IndexFunc(Columns, func(c Column) bool { return c.Name == n })
		*Columns[k].Field(a).(*float64) = t.number(n)
	}
	a.Sent, a.ReplyFirst, a.Seen = t.number("sent_s"), t.number("reply_first_s"), t.number("reply_seen_s")
	a.Receive, a.Compute = t.number("download_s"), t.number("compute_s")
	a.Wait = max(0, t.number("upload_start_s")-a.Receive-a.Compute)
	a.Outcome = Taken
	if !a.Responded() {
		a.Outcome = Lost
	} else if t.number("accepted") == 0 {
		a.Outcome = Late
	}
	for _, k := range c.Clients {
		if k.ID != id {
			continue
		}
		a.DownMbps, a.UpMbps, a.GFLOPS = k.Down, k.Up, k.CPU*rigCore
		if len(k.Pace) == 3 && k.Pace[2] > 0 {
			a.GFLOPS = 1e-9 / k.Pace[2]
		}
	}
	return "", true
}

// flower is the state of the importer of a log of Flower, whose clocks are one.
type flower struct {
	work  []float64 // by client, s
	bytes float64   // of the model
	polls [][]poll  // of the server, by round
}

// poll is a look of the server for replies.
type poll struct {
	end     float64
	replies int
}

var (
	flowerWork  = regexp.MustCompile(`work ([0-9., ]+) s`)
	flowerModel = regexp.MustCompile(`model ([0-9.]+) MB`)
	flowerPoll  = regexp.MustCompile(`([0-9.]+):([0-9.]+):(\d+)`)
)

func startFlower(t *table, found []comment) error {
	f := &flower{bytes: math.NaN()}
	number := func(s string) float64 {
		x, err := input.Number(strings.TrimSpace(s))
		if err != nil {
			return math.NaN()
		}
		return x
	}
	for _, c := range found {
		if m := flowerWork.FindStringSubmatch(c.text); m != nil {
			for s := range strings.SplitSeq(m[1], ",") {
				f.work = append(f.work, number(s))
			}
		}
		if m := flowerModel.FindStringSubmatch(c.text); m != nil {
			f.bytes = number(m[1]) * 1e6
		}
		if _, polls, ok := strings.Cut(c.text, "server polls"); ok {
			for round := range strings.SplitSeq(polls, "|") {
				var all []poll
				for _, m := range flowerPoll.FindAllStringSubmatch(round, -1) {
					all = append(all, poll{number(m[2]), int(number(m[3]))})
				}
				f.polls = append(f.polls, all)
			}
		}
	}
	if math.IsNaN(f.bytes) || len(f.polls) == 0 {
		return config.Errors{
			{Place: config.Place{File: t.path},
				Text: `must have comments with "model N MB" and "server polls a round (start:end:replies)"`},
		}
	}
	t.state = f
	return nil
}

// flowerRow reads the instants of a row. The work of a client in seconds becomes FLOPs of a nominal
// 10^9 FLOP/s.
func flowerRow(t *table, a *Attempt) (string, bool) {
	f := t.state.(*flower)
	a.Client, a.Round = t.name("client", t.cell("client")), t.whole("round")
	received, fetched := t.number("received_s"), t.number("fetched_s")
	start, end, sent := t.number("work_start_s"), t.number("work_end_s"), t.number("reply_sent_s")
	a.BytesDown, a.BytesUp = f.bytes, f.bytes
	a.Sent, a.Seen = t.number("sent_s"), sent // finishFlower replaces it by the poll that sees it
	a.Receive, a.Wait, a.Compute, a.Reply = fetched-received, start-fetched, end-start, sent-end
	a.Idle = received // finishFlower takes off the end of the previous reply
	a.CPU = t.number("process_cpu_s")
	if i, err := strconv.Atoi(a.Client); err == nil && i >= 1 && i <= len(f.work) {
		a.FLOPs, a.GFLOPS = f.work[i-1]*1e9, 1
	}
	return "", true
}

// finishFlower finds the idle times of clients, and the poll of the server that sees each reply: polls see replies in
// the order in which these were sent.
func finishFlower(t *table) {
	f := t.state.(*flower)
	previous := map[string]float64{} // end of the previous reply, by client
	for _, round := range t.run.Rounds() {
		for _, a := range round {
			end, known := previous[a.Client]
			if !known {
				end = math.NaN()
			}
			previous[a.Client] = a.Seen
			a.Idle -= end
		}
		k := round[0].Round
		if k >= len(f.polls) {
			t.problems.Add(config.Place{File: t.path}, fmt.Sprintf("round %d: has no polls of the server", k))
			return
		}
		slices.SortStableFunc(round, func(a, b *Attempt) int { return cmp.Compare(a.Seen, b.Seen) })
		next := 0
		for _, p := range f.polls[k] {
			for range p.replies {
				if next < len(round) {
					round[next].Seen = p.end
					next++
				}
			}
		}
		if next < len(round) {
			t.problems.Add(config.Place{File: t.path},
				fmt.Sprintf("round %d: the polls of the server see %d of %d replies", k, next, len(round)))
		}
	}
}

// devicesState is the state of the importer of devices.csv and devices.parquet.
type devicesState struct {
	run        string
	seen       map[string]bool // runs
	round      int
	start, end float64 // of the round
}

func startDevices(t *table, _ []comment) error {
	t.state = &devicesState{round: -1, seen: map[string]bool{}}
	return nil
}

// coordinateMethods are the algorithms whose steps visit a coordinate each. The steps of others in the tables are
// rows, of which the tables do not tell how many make a mini-batch.
var coordinateMethods = []string{"mocha", "local", "cocoa", "async-mocha"}

// devicesRow reads a row of the tables by device of a run directory. A row with exactly one
// attempt and one response is kept. Its compute_s contains launches, so that wait_s is not known. A round begins at the
// end of the previous one.
func devicesRow(t *table, a *Attempt) (string, bool) {
	s := t.state.(*devicesState)
	run, round := t.name(runColumn, t.cell("run")), t.whole("round")
	if run != s.run {
		*s = devicesState{run: run, round: -1, seen: s.seen}
		if s.seen[run] {
			t.wrong(t.path, t.line, runColumn, quote.Cut(run), "must have all its rows one after the other")
		}
		s.seen[run] = true
	}
	if round < s.round {
		t.wrong(t.path, t.line, "round", strconv.Itoa(round),
			fmt.Sprintf("comes after %d: rounds of a run must be in order", s.round))
	}
	if round != s.round {
		s.round, s.start = round, s.end
	}
	s.end = t.number("time_s")
	if t.number("attempts") != 1 || !(t.number("response_s") >= 0) || t.number("responses") != 1 {
		return run, false
	}
	a.Client, a.Round = t.name("device", t.cell("device")), round
	a.BytesDown, a.BytesUp = t.number("bytes_down"), t.number("bytes_up")
	a.FLOPs, a.Receive, a.Compute = t.number("flops"), t.number("downlink_s"), t.number("compute_s")
	if slices.Contains(coordinateMethods, t.cell("algorithm")) {
		a.Steps = t.number("steps")
	}
	a.Sent, a.Seen = s.start, s.start+t.number("response_s")
	a.ReplyFirst = a.Seen - t.number("uplink_s")
	if t.number("late") > 0 {
		a.Outcome = Late
	}
	return run, true
}

func finishDevices(t *table) {
	for _, r := range t.log.Runs {
		r.ByDevice = r.ByDevice || r.File == t.path
	}
}
