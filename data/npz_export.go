package data

import (
	"encoding/json"
	"fmt"
	"slices"

	"fedsim/internal/tools/elements"
	"fedsim/internal/tools/input"
)

// exportFile is the file of an export that describes its arrays.
const exportFile = "data.json"

// exportInfo is the content of exportFile.
type exportInfo struct {
	Digest   string `json:"digest"`
	Clients  int    `json:"clients"`
	Features int    `json:"features"`
	Rows     []int  `json:"train_rows"`
	TaskOf   []int  `json:"task_of_client"`
	TestRows []int  `json:"test_rows"`
	// ValidationRows are those of each task; nil: there are none.
	ValidationRows []int    `json:"validation_rows,omitempty"`
	Names          []string `json:"client_names"`
	Labels         []Label  `json:"labels,omitempty"`
}

// maxExportFile limits the bytes of exportFile.
const maxExportFile = 1 << 28

// failExport returns an error in the description of an export.
func (f *Folder) failExport(format string, arguments ...any) error {
	return inFile(f.Path(exportFile), format, arguments...)
}

// readExportInfo reads the description of an export, whose rows must be those of clients alone.
func (f *Folder) readExportInfo() (about exportInfo, err error) {
	if _, err := f.SizeBound(exportFile); err != nil {
		return about, err
	}
	text, err := f.ReadWhole(exportFile, maxExportFile)
	if err != nil {
		return about, err
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return about, &ParseError{File: f.Path(exportFile), Problem: "is not what fedsim data export writes", Err: err}
	}
	switch n := len(about.Rows); {
	case n == 0 || len(about.Names) != n || len(about.TaskOf) != n || about.Features < 1:
		return about, f.failExport("must have train_rows, client_names, task_of_client and features")
	case len(about.TestRows) != n:
		return about,
			f.failExport("has clients that share tasks: export the set with data.clients_per_task = 1, " +
				"and divide its clients where you read it")
	case about.ValidationRows != nil:
		return about,
			f.failExport("has validation rows: export the set with data.validation_fraction = 0, " +
				"and hold rows out where you read it")
	}
	return about, nil
}

// readExport reads the arrays that Export wrote. Its test rows are the set's own.
func (f *Folder) readExport(cfg *Config) (*Set, error) {
	if cfg.Arrays != (ArraysConfig{}) {
		return nil, f.failExport("describes the arrays of fedsim data export: [data.arrays] must not name others")
	}
	about, err := f.readExportInfo()
	if err != nil {
		return nil, err
	}
	set := &Set{Features: about.Features}
	halves := [2][]int{about.Rows, about.TestRows}
	for h, half := range []string{"train", "test"} {
		rows := 0
		for _, n := range halves[h] {
			if n < 0 || n > elements.Most || rows > elements.Most {
				return nil, f.failExport("has %d rows of a client", n)
			}
			rows += n
		}
		if rows == 0 {
			continue
		}
		x, err := f.features(half + "_x.npy")
		if err != nil {
			return nil, err
		}
		y, texts, err := f.column(half+"_y.npy", x.Rows)
		if err != nil {
			return nil, err
		}
		if x.Rows != rows || x.Cols != about.Features || texts != nil {
			return nil, f.failExport("has %d rows of %d features, %s_x.npy is %d x %d, with numbers as targets", rows,
				about.Features, half, x.Rows, x.Cols)
		}
		set.append(halves[h], about.Names, &x, y, half == "test")
	}
	for t := range set.Clients {
		if problem := input.RefuseName(set.Clients[t].Name); problem != "" {
			return nil, f.failExport("the client's name %s", problem)
		}
	}
	if cfg.Target != TargetReal && about.Labels != nil {
		if problem := set.named(about.Labels); problem != "" {
			return nil, f.failExport("%s", problem)
		}
	}
	return set, nil
}

// append adds the given numbers of rows to the tasks.
func (s *Set) append(rows []int, names []string, x *Matrix, y []float64, held bool) {
	if s.Clients == nil {
		s.Clients = make([]Client, len(rows))
	}
	from := 0
	for t, n := range rows {
		task := &s.Clients[t]
		part := x.Part(from, from+n)
		if !held {
			*task = Client{Name: names[t], X: part, Y: y[from : from+n : from+n]}
		} else if n > 0 {
			whole := NewMatrix(task.X.Rows+n, x.Cols)
			copy(whole.Data[copy(whole.Data, task.X.Data):], part.Data)
			task.X, task.Y, task.Held = whole, slices.Concat(task.Y, y[from:from+n]), n
		}
		from += n
	}
}

// named replaces labels by the numbers of named classes.
func (s *Set) named(labels []Label) (problem string) {
	for _, label := range labels {
		if problem := input.RefuseName(label.Class); problem != "" || slices.Contains(s.Classes, label.Class) {
			return fmt.Sprintf("the class %d has no name of its own", label.Value)
		}
		s.Classes = append(s.Classes, label.Class)
	}
	for t := range s.Clients {
		for i, y := range s.Clients[t].Y {
			class := slices.IndexFunc(labels, func(l Label) bool { return float64(l.Value) == y })
			if class < 0 {
				return fmt.Sprintf("has no label %v, which row %d of client %q has", y, i+1, s.Clients[t].Name)
			}
			s.Clients[t].Y[i] = float64(class)
		}
	}
	return ""
}
