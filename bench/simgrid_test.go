package main

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "generate internal/tools/flows/testdata/simgrid.csv with SimGrid")

const (
	simgridFile   = "../internal/tools/flows/testdata/simgrid.csv"
	simgridHeader = "case,server_mbps,changes_s,then_mbps,cell,cell_mbps,own_mbps,bytes,begins_s,ends_s"
)

// The reference solutions of internal/tools/flows are those of SimGrid. This command generates
// them: go test -run Reference -update
func TestReferenceIsSimGrids(t *testing.T) {
	program := compileSimGrid(t)
	if *update {
		text := simgridHeader + "\n"
		for number := range 150 {
			rows := drawTransfers(number)
			for i, end := range solveBySimGrid(t, program, rows) {
				text += rows[i] + "," + end + "\n"
			}
		}
		if err := os.WriteFile(simgridFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(simgridFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if lines[0] != simgridHeader {
		t.Fatalf("%s has the columns %s, want %s", simgridFile, lines[0], simgridHeader)
	}
	cases := 0
	for rest := lines[1:]; len(rest) > 0; cases++ {
		number, _, _ := strings.Cut(rest[0], ",")
		var rows, ends []string
		for len(rest) > 0 && strings.HasPrefix(rest[0], number+",") {
			last := strings.LastIndexByte(rest[0], ',')
			rows, ends = append(rows, rest[0][:last]), append(ends, rest[0][last+1:])
			rest = rest[1:]
		}
		for i, end := range solveBySimGrid(t, program, rows) {
			got, want := parse(t, end), parse(t, ends[i])
			if math.Abs(got-want) > 1e-9*want { // other versions may round differently
				t.Errorf("case %s: transfer %d ends at %s s, in the file at %s", number, i, end, ends[i])
			}
		}
	}
	if cases < 100 {
		t.Errorf("%d cases, want at least 100", cases)
	}
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func compileSimGrid(t *testing.T) (program string) {
	t.Helper()
	if _, err := os.Stat("/usr/include/simgrid/s4u.hpp"); err != nil {
		t.Skip("SimGrid is not installed: apt-get install libsimgrid-dev g++")
	}
	program = filepath.Join(t.TempDir(), "simgrid")
	said, err := exec.Command("g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program,
		"programs/simgrid.cpp", "-lsimgrid").CombinedOutput()
	if err != nil {
		t.Fatalf("g++ programs/simgrid.cpp: %v\n%s", err, said)
	}
	return program
}

// solveBySimGrid returns the end of each transfer of a case in seconds.
func solveBySimGrid(t *testing.T, program string, rows []string) []string {
	t.Helper()
	cmd := exec.Command(program, "--log=root.thres:error")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(rows, "\n")+"\n"), &said
	out, err := cmd.Output()
	ends := strings.Fields(string(out))
	if err != nil || len(ends) != len(rows) {
		t.Fatalf("%d transfers: %d ends, %v\n%s", len(rows), len(ends), err, said.Bytes())
	}
	return ends
}

// drawTransfers draws a case: 2 to 40 transfers in up to 4 cells, half of them with the
// rates of others, some also with the same start. The capacity of links is 0.1 to 1.2 times
// the sum of the rates of all devices, and the capacity of the server changes once. It is
// never below the rate of a device: SimGrid limits a transfer permanently by the narrowest
// link at its start.
func drawTransfers(number int) (rows []string) {
	random := rand.New(rand.NewPCG(2023, uint64(number)))
	between := func(low, high float64) float64 { return low * math.Pow(high/low, random.Float64()) }
	n, cells := 2+random.IntN(39), random.IntN(5)
	own, all, fastest := make([]float64, n), 0.0, 0.0
	cellOf, within := make([]int, n), make([]float64, cells)
	for i := range own {
		own[i] = between(0.5, 50)
		if random.IntN(2) == 0 {
			own[i] = []float64{1, 2, 5, 10}[random.IntN(4)]
		}
		cellOf[i] = random.IntN(cells+1) - 1
		all, fastest = all+own[i], max(fastest, own[i])
		if cellOf[i] >= 0 {
			within[cellOf[i]] += own[i]
		}
	}
	for c := range within {
		within[c] *= between(0.1, 1.2)
	}
	server, changes, then := max(fastest, all*between(0.1, 1.2)), between(0.5, 20), max(fastest, all*between(0.1, 1.2))
	for i := range own {
		begins := 10 * random.Float64()
		if random.IntN(3) == 0 {
			begins = float64(random.IntN(5))
		}
		limit := 0.0
		if cellOf[i] >= 0 {
			limit = within[cellOf[i]]
		}
		rows = append(rows, fmt.Sprintf("%d,%.6g,%.6f,%.6g,%d,%.6g,%.6g,%.0f,%.6f",
			number, server, changes, then, cellOf[i], limit, own[i], between(1e4, 1e7), begins))
	}
	return rows
}
