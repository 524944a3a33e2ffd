package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"fedsim/internal/quote"
)

// version is the version of the protocol.
const version = 1

// The abilities of learners beyond rounds.
const (
	canSave    = "save"
	canReceive = "receive"
	canLoss    = "loss"
	canWeights = "weights"
)

var abilities = []string{canSave, canReceive, canLoss, canWeights}

// request is a request of any operation. Fields that it does not have are left out.
type request struct {
	Op      string          `json:"op"`
	V       []int           `json:"v,omitempty"`
	Run     int             `json:"run,omitempty"`
	Round   *int            `json:"round,omitempty"`
	ID      string          `json:"id,omitempty"`
	Seed    *uint64         `json:"seed,omitempty"`
	Clients any             `json:"clients,omitempty"` // a list of them; in start, their number
	Rows    []int32         `json:"rows,omitempty"`
	Feature *int            `json:"features,omitempty"`
	Data    string          `json:"data,omitempty"`
	Labels  any             `json:"labels,omitempty"` // those of data.Set.Labels, where there are any
	Options json.RawMessage `json:"options,omitempty"`
	Work    []workOrder     `json:"work,omitempty"`
	Client  *int            `json:"client,omitempty"`
	Path    string          `json:"path,omitempty"`
	Weights []float64       `json:"weights,omitempty"`
}

// workOrder asks a client for its local work.
type workOrder struct {
	Client int    `json:"client"`
	Steps  *int   `json:"steps"` // null: as many as it likes
	Seed   uint64 `json:"seed"`
}

// The responses. A required field is a pointer: nil where it is missing.
type (
	metric struct {
		Split  string `json:"split"`
		Name   string `json:"name"`
		Better string `json:"better"`
		Unit   string `json:"unit"`
	}
	helloResponse struct {
		V       *int     `json:"v"`
		Name    string   `json:"name"`
		Can     []string `json:"can"`
		Metrics []metric `json:"metrics"`
	}
	startResponse struct {
		StepFLOPs *float64 `json:"step_flops"`
		DownBytes *int64   `json:"down_bytes"`
		UpBytes   *int64   `json:"up_bytes"`
		OneModel  bool     `json:"one_model"`
	}
	messageResponse struct {
		DownBytes *int64 `json:"down_bytes"`
	}
	work struct {
		Client  *int     `json:"client"`
		Steps   *int     `json:"steps"`
		FLOPs   *float64 `json:"flops"`
		UpBytes *int64   `json:"up_bytes"`
	}
	solveResponse struct {
		Work []work `json:"work"`
	}
	endResponse struct {
		FLOPs *float64 `json:"flops"`
	}
	metricValue struct {
		Split string   `json:"split"`
		Name  string   `json:"name"`
		Value *float64 `json:"value"` // nil: not known
	}
	clientValues struct {
		Split   string        `json:"split"`
		Name    string        `json:"name"`
		Devices list[int32]   `json:"devices"`
		Values  list[float64] `json:"values"`
	}
	evaluateResponse struct {
		Metrics   []metricValue  `json:"metrics"`
		ModelHash string         `json:"model_hash"`
		Clients   []clientValues `json:"clients"`
	}
	lossResponse struct {
		Losses list[float64] `json:"losses"`
	}
	receiveResponse struct {
		Taken *bool    `json:"taken"`
		FLOPs *float64 `json:"flops"`
	}
	saveResponse struct {
		SHA256 string `json:"sha256"`
	}
	emptyResponse struct{}
)

// list is a list of numbers. A null in it is an error, not 0.
type list[T int32 | float64] []T

// UnmarshalJSON reads the list.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	if bytes.Contains(text, []byte("null")) {
		return &json.UnmarshalTypeError{Value: "null", Type: reflect.TypeFor[T]()}
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// reportedError is the start of an error that the learner reports.
const reportedError = "the learner reports: "

// decode reads a response strictly. The error names the defect of the response, or is the
// error that the learner reports.
func decode(line []byte, into any) error {
	var reported struct {
		Error *string `json:"error"`
	}
	if json.Unmarshal(line, &reported) == nil && reported.Error != nil {
		if *reported.Error == "" {
			return errors.New("the learner reports an error without a text")
		}
		return fmt.Errorf(reportedError+"%s", quote.Line(*reported.Error))
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if bytes.Equal(bytes.TrimSpace(line), []byte("null")) {
		return fmt.Errorf("answers null: must be a JSON object")
	}
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			return fmt.Errorf("answers more than one value in a line: %s", excerpt(line))
		}
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return fmt.Errorf("answers %s: must be a JSON object", excerpt(line))
		}
		want := map[string]string{"float64": "a finite number", "int": "a whole number", "int32": "a whole number", "int64": "a whole number", "bool": "true or false", "string": "a string"}[wrong.Type.String()]
		if want == "" {
			want = "a list or an object"
		}
		return fmt.Errorf("answers with %s of type %s: must be %s", wrong.Field, wrong.Value, want)
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("unknown field %s in the answer %s", name, excerpt(line))
	}
	hint := ""
	if bytes.Contains(line, []byte("NaN")) || bytes.Contains(line, []byte("Infinity")) {
		hint = ", which has no NaN and no Infinity"
	}
	return fmt.Errorf("answers with invalid JSON (%v)%s: %s", err, hint, excerpt(line))
}

// excerpt returns the start of a line for an error.
func excerpt(line []byte) string {
	const most = 100
	if len(line) > most {
		return fmt.Sprintf("%q...", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
