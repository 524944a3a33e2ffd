package command

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// meanModel is an external model of a single number, with rows of its own: each client has two rows with its
// own number as the target. It has no need of the rows' numbers. Args are "log=FILE", a file that it
// makes with its first gradient, "mark=FILE", which has its fingerprint, and
// "fault=sum" or "fault=counts", for gradients that are wrong or depend on how many there were. With "by-row" it has
// the losses of rows and takes weights; "fault=losses" and "fault=weights" make them wrong.
func meanModel(args []string) {
	m := &meanProgram{mark: "1"}
	for _, arg := range args {
		if path, ok := strings.CutPrefix(arg, "log="); ok {
			m.log = path
		}
		if arg == "by-row" {
			m.predictions = `"predictions":1,`
			continue
		}
		m.fault = strings.TrimPrefix(arg, "fault=")
		if path, ok := strings.CutPrefix(arg, "mark="); ok {
			text, err := os.ReadFile(path)
			if err != nil {
				panic(err)
			}
			m.mark = strings.TrimSpace(string(text))
		}
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		fmt.Println(m.answer(line))
	}
}

type meanProgram struct {
	mark, log string
	fault     string
	asked     int
	// predictions is a field of hello
	predictions string
	places      []meanPlace
	meanPlace   // of the request
}

// meanPlace is a file with the slots of a request.
type meanPlace struct {
	file        *os.File
	w, g, byRow int64
}

func (m *meanProgram) answer(line []byte) string {
	var q struct {
		Op       string
		Client   int
		Clients  []int
		Place    int
		Weighted bool
		Files    []struct {
			Path  string
			W, G  int64
			ByRow int64 `json:"by_row"`
		}
	}
	if err := json.Unmarshal(line, &q); err != nil {
		panic(err)
	}
	if m.places != nil {
		m.meanPlace = m.places[q.Place]
	}
	switch q.Op {
	case "hello":
		name := "asked"
		switch m.fault {
		case "name":
			name = "1st"
		case "statistic":
			name = "error_p90"
		}
		return fmt.Sprintf(`{"metrics":[{"name":%q,"better":"lower"}],"v":1,"name":"mean","fingerprint":%q,`+
			`"values":1,"dtype":"float64","row_flops":4,"shapes":[{"name":"mean.value","shape":[1,1]}],%s`+
			`"rows":{"train":[2,2,2],"test":[2,2,2]}}`, name, m.mark, m.predictions)
	case "open":
		for _, f := range q.Files {
			file, err := os.OpenFile(f.Path, os.O_RDWR, 0)
			if err != nil {
				panic(err)
			}
			m.places = append(m.places, meanPlace{file, f.W, f.G, f.ByRow})
		}
		return `{}`
	case "init":
		m.write(m.w, 5)
		return `{}`
	case "gradient":
		if m.log != "" {
			if err := os.WriteFile(m.log, nil, 0o666); err != nil {
				panic(err)
			}
			m.log = ""
		}
		miss := m.read(m.w) - float64(q.Client)
		m.asked++
		if q.Weighted && m.fault != "weights" {
			miss *= (m.read(m.byRow) + m.read(m.byRow+8)) / 2
		}
		switch m.fault {
		case "sum": // of the two rows
			m.write(m.g, 2*miss)
		case "counts":
			m.write(m.g, miss+1e-9*float64(m.asked))
		default:
			m.write(m.g, miss)
		}
		return fmt.Sprintf(`{"loss":%g}`, miss*miss/2)
	case "losses":
		w := m.read(m.w)
		loss := (w - float64(q.Client)) * (w - float64(q.Client)) / 2
		if m.fault == "losses" {
			loss *= 2
		}
		for i, x := range []float64{loss, float64(q.Client), w, loss, float64(q.Client), w} {
			m.write(m.byRow+8*int64(i), x)
		}
		return `{"rows":2}`
	case "evaluate":
		var rows, losses, errors, asked []string
		for _, k := range q.Clients {
			miss := m.read(m.w) - float64(k)
			rows, losses, errors = append(rows, "2"), append(losses, fmt.Sprint(miss*miss/2)),
				append(errors, fmt.Sprint(2*miss*miss))
			if asked = append(asked, "1"); m.fault == "metrics" {
				asked[len(asked)-1] = fmt.Sprint(len(q.Clients)) // the others that are asked
			}
		}
		return fmt.Sprintf(`{"rows":[%s],"losses":[%s],"errors":[%s],"metrics":{"asked":[%s]}}`,
			strings.Join(rows, ","), strings.Join(losses, ","), strings.Join(errors, ","), strings.Join(asked, ","))
	default:
		return `{"error":"unknown"}`
	}
}

func (m *meanProgram) read(at int64) (x float64) {
	if err := binary.Read(io.NewSectionReader(m.file, at, 8), binary.NativeEndian, &x); err != nil {
		panic(err)
	}
	return x
}

func (m *meanProgram) write(at int64, x float64) {
	if err := binary.Write(io.NewOffsetWriter(m.file, at), binary.NativeEndian, x); err != nil {
		panic(err)
	}
}
