package rundir

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"fedsim/results"
)

// measured reports whether theta was measured in any round of the runs.
func measured(runs []results.Run) bool {
	for i := range runs {
		for j := range runs[i].Rounds {
			if runs[i].Rounds[j].Thetas != nil {
				return true
			}
		}
	}
	return false
}

// thetasColumns are the columns of thetas.csv.
var thetasColumns = []column{{name: "run"}, {name: "round"}, {name: "device"}, {name: "theta"}, {name: "accepted"}}

// writeThetas writes thetas.csv: a row per device of each measured round, in the
// order of the runs.
func writeThetas(w io.Writer, runs []results.Run) error {
	out := csv.NewWriter(w)
	if err := out.Write(names(thetasColumns)); err != nil {
		return err
	}
	for i := range runs {
		for j := range runs[i].Rounds {
			round := &runs[i].Rounds[j]
			row := []string{runs[i].ID, strconv.Itoa(round.Round), "", "", ""}
			for t, theta := range round.Thetas {
				row[2], row[3], row[4] = strconv.Itoa(t), formatNumber(theta.Value), strconv.FormatBool(theta.Accepted)
				if err := out.Write(row); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// thetasReader reads thetas.csv into the rounds of rounds.csv.
type thetasReader struct {
	*tableReader
	runs     []results.Run
	run      int // of the last row; -1 before the first
	round    int // its index in the run
	accepted int // devices of that round, up to the last row
	devices  int // of the run; 0 while its first measured round is read
}

// readThetas reads thetas.csv. Rows must be in the order of runs, rounds and devices. All
// measured rounds of a run must have the same devices, and as many accepted devices as
// rounds.csv has participants.
func readThetas(path string, r io.Reader, runs []results.Run) error {
	table, err := newTableReader(path, r, thetasColumns)
	if err != nil {
		return err
	}
	t := &thetasReader{tableReader: table, runs: runs, run: -1}
	for {
		switch err := t.next(); err {
		case nil:
			if err := t.take(); err != nil {
				return err
			}
		case io.EOF:
			return t.closeRound()
		default:
			return err
		}
	}
}

// take adds the current row.
func (t *thetasReader) take() error {
	round, err := strconv.Atoi(t.row[1])
	if err != nil {
		return t.wrong(1, "must be a round of "+roundsFile)
	}
	if t.run < 0 || t.row[0] != t.runs[t.run].ID || round != t.runs[t.run].Rounds[t.round].Round {
		if err := t.closeRound(); err != nil {
			return err
		}
		if err := t.openRound(round); err != nil {
			return err
		}
	}
	x := &t.runs[t.run].Rounds[t.round]
	if want := strconv.Itoa(len(x.Thetas)); t.row[2] != want || t.devices > 0 && len(x.Thetas) == t.devices {
		return t.wrong(2, "must be the next device of the round, of which each has one row")
	}
	theta := results.Theta{Accepted: t.row[4] == "true"}
	if !theta.Accepted && t.row[4] != "false" {
		return t.wrong(4, "must be true or false")
	}
	if t.row[3] == "" {
		theta.Value = math.NaN()
	} else if theta.Value, err = strconv.ParseFloat(t.row[3], 64); err != nil || !(theta.Value >= 0) || math.IsInf(theta.Value, 1) {
		return t.wrong(3, "must be a number that is not negative, or empty")
	}
	if !theta.Accepted && theta.Value != 1 {
		return t.wrong(3, "must be 1: the update was not accepted")
	}
	if theta.Accepted {
		t.accepted++
	}
	x.Thetas = append(x.Thetas, theta)
	return nil
}

// openRound finds the round of the current row, which must follow the last one.
func (t *thetasReader) openRound(number int) error {
	run, from := t.run, t.round+1
	if run < 0 || t.runs[run].ID != t.row[0] {
		for run++; run < len(t.runs) && t.runs[run].ID != t.row[0]; run++ {
		}
		if run == len(t.runs) {
			return t.wrong(0, "must be a run of the manifest, in its order")
		}
		from, t.devices = 0, 0
	}
	rounds := t.runs[run].Rounds
	for from < len(rounds) && rounds[from].Round != number {
		from++
	}
	if from == len(rounds) {
		return t.wrong(1, "must be a round of "+roundsFile+", in its order")
	}
	t.run, t.round, t.accepted = run, from, 0
	return nil
}

// closeRound checks the last round as a whole.
func (t *thetasReader) closeRound() error {
	if t.run < 0 {
		return nil
	}
	run := &t.runs[t.run]
	round := &run.Rounds[t.round]
	if t.devices == 0 {
		t.devices = len(round.Thetas)
	}
	if len(round.Thetas) != t.devices || t.accepted != round.Participants {
		return fmt.Errorf("%s: round %d of run %q has %d devices of which %d are accepted: must have %d of which %d are, as the rounds before it and %s say",
			t.path, round.Round, run.ID, len(round.Thetas), t.accepted, t.devices, round.Participants, roundsFile)
	}
	return nil
}
