package data

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// exported reads the numbers of an exported array.
func exported(t *testing.T, file []byte, shape string) (numbers []float64) {
	t.Helper()
	if head := string(file[:min(len(file), 128)]); !strings.HasPrefix(head, "\x93NUMPY") ||
		!strings.Contains(head, "'shape': "+shape+",") {
		t.Fatalf("the head is %q, want shape %s", head, shape)
	}
	at := bytes.IndexByte(file, '\n') + 1
	expect.Must(t, at%64 == 0 && (len(file)-at)%8 == 0, "%d bytes of head, %d of numbers", at, len(file)-at)
	for b := file[at:]; len(b) > 0; b = b[8:] {
		numbers = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return numbers
}

// The exported rows have the bits of the split, in the order of the clients, for every
// preparation of the data.
func TestExportedRowsAreThoseOfMethods(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"plain":        func(*Config) {},
		"standardized": func(c *Config) { c.Standardize, c.Bias = true, true },
		"shared":       func(c *Config) { c.ClientsPerTask = 2 },
		"single":       func(c *Config) { c.Precision = PrecisionSingle },
		"generated":    func(c *Config) { c.Resident = false },
		"validation":   func(c *Config) { c.Validation, c.Resident = 0.3, false },
	} {
		cfg := Defaults()
		cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 3, 4, 6, 9
		change(&cfg)
		split := prepared(t, cfg)
		files := map[string][]byte{}
		err := Export(split, func(name string, fill func(io.Writer) error) error {
			var b bytes.Buffer
			err := fill(&b)
			files[name] = b.Bytes()
			return err
		})
		expect.Must(t, err == nil && len(files) == 1+2*len(split.Parts()), "%s: %d files, %v", name, len(files), err)
		var about struct {
			Digest    string
			TrainRows []int `json:"train_rows"`
			TaskOf    []int `json:"task_of_client"`
		}
		expect.NoError(t, json.Unmarshal(files["data.json"], &about))
		if about.Digest != split.Digest() || len(about.TrainRows) != len(split.Train.Clients) ||
			about.TaskOf[len(about.TaskOf)-1] != 2 {
			t.Errorf("%s: data.json is %s", name, files["data.json"])
		}
		var x, y []float64
		space := make([]float64, split.Train.Features)
		for k := range split.Train.Clients {
			task := split.Train.Open(k)
			expect.That(t, about.TrainRows[k] == task.X.Rows,
				"%s: client %d has %d rows, exported %d", name, k, task.X.Rows, about.TrainRows[k])
			for i := range task.X.Rows {
				x = append(x, task.X.Values(i, space)...)
			}
			y = append(y, task.Y...)
			task.Close()
		}
		rows := len(y)
		shape := func(sizes ...int) string {
			text, _ := json.Marshal(sizes)
			return strings.NewReplacer("[", "(", "]", map[bool]string{true: ",)", false: ")"}[len(sizes) == 1], ",",
				", ").Replace(string(text))
		}
		if split.Validation != nil {
			y := []float64{}
			for k := range split.Validation.Clients {
				y = append(y, split.Validation.Clients[k].Y...)
			}
			if got := exported(t, files["validation_y.npy"], shape(len(y))); !slices.Equal(got, y) || len(y) == 0 ||
				!bytes.Contains(files["data.json"], []byte("validation_rows")) {
				t.Errorf("%s: the validation rows differ", name)
			}
		}
		if got := exported(t, files["train_x.npy"], shape(rows, split.Train.Features)); !slices.Equal(got, x) {
			t.Errorf("%s: the features differ", name)
		}
		if got := exported(t, files["train_y.npy"], strings.Replace(shape(rows), ", )", ",)", 1)); !slices.Equal(got,
			y) {
			t.Errorf("%s: the labels differ", name)
		}
		if got := exported(t, files["test_y.npy"], strings.Replace(shape(split.Test.Rows()), ", )", ",)", 1)); len(
			got) != split.Test.Rows() {
			t.Errorf("%s: %d test labels", name, len(got))
		}
	}
}
