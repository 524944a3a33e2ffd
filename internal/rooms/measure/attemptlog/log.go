package attemptlog

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/config"
)

// Log is a set of runs of a federation.
type Log struct {
	Runs []*Run // in the order in which the files name them
	// Notes are sentences about unusual data of the log, such as a suspended machine.
	Notes []string
}

// Run is one run: its settings and its attempts, in the order of the files.
type Run struct {
	Name     string
	File     string // the first file with rows of the run
	Attempts []Attempt
	// Settings are keys of scenarios with the values that the run had.
	Settings []config.Assignment
	// ByDevice reports that the attempts are rows by device and round of a run directory: transfers contain the
	// latency of the link, and rounds of a device with several attempts or without a response have no row.
	ByDevice bool
}

// Setting returns the value of a dotted key of scenarios, nil if the log does not have it.
func (r *Run) Setting(key string) any {
	var value any
	for _, s := range r.Settings {
		if s.Path.String() == key {
			value = s.Value.Value() // the last one holds
		}
	}
	return value
}

// Overrides returns the settings as overrides of a scenario, such as federation.protocol="first".
func (r *Run) Overrides() []string {
	var all []string
	for _, s := range r.Settings {
		all = append(all, s.Path.String()+"="+config.Literal(s.Value.Value()))
	}
	return all
}

// Clients returns the names of the clients, in the order of CompareNames.
func (r *Run) Clients() []string {
	names := map[string]bool{}
	for i := range r.Attempts {
		names[r.Attempts[i].Client] = true
	}
	return slices.SortedFunc(maps.Keys(names), CompareNames)
}

// CompareNames orders names of clients: whole numbers by value, so that 2 comes before 10, and then
// other names by their bytes.
func CompareNames(a, b string) int {
	digits := func(s string) bool {
		return s != "" && !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < '0' || c > '9' })
	}
	switch x, y := digits(a), digits(b); {
	case x && y:
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case x:
		return -1
	case y:
		return 1
	default:
		return cmp.Compare(a, b)
	}
}

// Rounds returns the attempts by round, in ascending order of rounds. Within a round they are in
// the order of sending.
func (r *Run) Rounds() [][]*Attempt {
	all := make([]*Attempt, len(r.Attempts))
	for i := range r.Attempts {
		all[i] = &r.Attempts[i]
	}
	order := func(a, b *Attempt) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Sent, b.Sent))
	}
	if !slices.IsSortedFunc(all, order) { // most logs are
		slices.SortStableFunc(all, order)
	}
	var rounds [][]*Attempt
	from := 0
	for i, a := range all {
		if i+1 == len(all) || a.Round != all[i+1].Round {
			rounds = append(rounds, all[from:i+1:i+1])
			from = i + 1
		}
	}
	return rounds
}

// Read reads the runs of files. A file that ends in ".parquet" is a parquet file, any other is
// csv. Rows of several files with the same name of a run are one run. An error is a config.Errors
// that names the places, or that of the file system.
func Read(paths ...string) (*Log, error) {
	b := &builder{runs: map[string]*Run{}, texts: map[string]string{}}
	for _, path := range paths {
		b.settings, b.grown = nil, false
		from := len(b.log.Runs)
		read := b.readCSV
		if strings.EqualFold(filepath.Ext(path), ".parquet") {
			read = b.readParquet
		}
		if err := read(path); err != nil {
			return nil, err
		}
		for _, r := range b.log.Runs[from:] {
			r.Settings = b.settings
		}
		if !b.grown && len(b.problems) == 0 {
			b.problems.Add(config.Place{File: path}, "has no rows: must have one for each attempt")
		}
	}
	if err := b.problems.Err(); err != nil {
		return nil, err
	}
	for _, r := range b.log.Runs {
		b.check(r)
	}
	if err := b.problems.Err(); err != nil {
		return nil, err
	}
	return &b.log, nil
}

// builder adds rows to a log.
type builder struct {
	log      Log
	runs     map[string]*Run
	texts    map[string]string // each text once in memory
	settings []config.Assignment
	problems config.Errors
	grown    bool // the current file has rows
}

// run returns the run with a name; rows without a name are of a run with the name of the file.
func (b *builder) run(name, path string) *Run {
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	r := b.runs[name]
	if r == nil {
		r = &Run{Name: name, File: path}
		b.runs[name] = r
		b.log.Runs = append(b.log.Runs, r)
	}
	b.grown = true
	return r
}

// text returns a text that shares memory with equal ones.
func (b *builder) text(s string) string {
	if known, ok := b.texts[s]; ok {
		return known
	}
	s = strings.Clone(s)
	b.texts[s] = s
	return s
}

func (b *builder) note(format string, arguments ...any) {
	b.log.Notes = append(b.log.Notes, fmt.Sprintf(format, arguments...))
}

// wrong reports a value of a row.
func (b *builder) wrong(path string, line int, column, value, want string) {
	text := fmt.Sprintf("%s = %s: %s", column, value, want)
	if value == "" {
		text = fmt.Sprintf("%s: %s", column, want)
	}
	b.problems.Add(place(path, line), text)
}

func place(path string, line int) config.Place {
	return config.Place{File: fmt.Sprintf("%s:%d", path, line)}
}

// full reports whether the limit on problems is reached, so that reading ends.
func (b *builder) full() bool { return len(b.problems) > 20 }
