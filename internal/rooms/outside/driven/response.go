package driven

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation/session"
	"fedsim/internal/tools/quote"
	"fedsim/results"
)

// response is a line of the engine, written from left to right into a buffer that all
// lines share.
type response struct{ b []byte }

// begin starts an object with the time.
func (r *response) begin(now engine.Time) {
	r.b = strconv.AppendInt(append(r.b[:0], `{"now_ns":`...), int64(now), 10)
}

// end closes the object and the line.
func (r *response) end() []byte {
	r.b = append(r.b, "}\n"...)
	return r.b
}

// name starts another field. Names need no escapes.
func (r *response) name(name string) {
	if last := r.b[len(r.b)-1]; last != '{' {
		r.b = append(r.b, ',')
	}
	r.b = append(append(append(r.b, '"'), name...), `":`...)
}

func (r *response) integer(name string, n int64) {
	r.name(name)
	r.b = strconv.AppendInt(r.b, n, 10)
}

// time writes a time, null for Never.
func (r *response) time(name string, at engine.Time) {
	if at == engine.Never {
		r.name(name)
		r.b = append(r.b, "null"...)
		return
	}
	r.integer(name, int64(at))
}

// float writes a number, null for NaN.
func (r *response) float(name string, x float64) {
	r.name(name)
	r.b = appendFloat(r.b, x)
}

func appendFloat(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

func (r *response) text(name, s string) {
	r.name(name)
	r.b = appendText(r.b, s)
}

// textOrNull writes a text, null for an empty one.
func (r *response) textOrNull(name, s string) {
	if r.name(name); s == "" {
		r.b = append(r.b, "null"...)
	} else {
		r.b = appendText(r.b, s)
	}
}

func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // of what is not UTF-8 it writes U+FFFD
	return b
}

func (r *response) list(name string, n int, element func(i int)) {
	r.name(name)
	r.b = append(r.b, '[')
	for i := range n {
		if i > 0 {
			r.b = append(r.b, ',')
		}
		element(i)
	}
	r.b = append(r.b, ']')
}

func (r *response) integers(name string, all []int64) {
	r.list(name, len(all), func(i int) { r.b = strconv.AppendInt(r.b, all[i], 10) })
}

// clients writes numbers of clients.
func (r *response) clients(name string, all []int32) {
	r.list(name, len(all), func(i int) { r.b = strconv.AppendInt(r.b, int64(all[i]), 10) })
}

func (r *response) batteries(all []session.BatteryReport) {
	r.list("reported", len(all), func(i int) { r.b = strconv.AppendInt(r.b, int64(all[i].Client), 10) })
	r.list("battery", len(all), func(i int) { r.b = appendFloat(r.b, all[i].Battery) })
	r.list("charging", len(all), func(i int) { r.b = strconv.AppendBool(r.b, all[i].Charging) })
}

// ranges writes increasing numbers as pairs: the first and the last of each range.
func (r *response) ranges(name string, all []int32) {
	r.name(name)
	r.b = append(r.b, '[')
	for i := 0; i < len(all); {
		k := i
		for k+1 < len(all) && all[k+1] == all[k]+1 {
			k++
		}
		if i > 0 {
			r.b = append(r.b, ',')
		}
		r.b = strconv.AppendInt(append(r.b, '['), int64(all[i]), 10)
		r.b = strconv.AppendInt(append(r.b, ','), int64(all[k]), 10)
		r.b = append(r.b, ']')
		i = k + 1
	}
	r.b = append(r.b, ']')
}

// reasons are the failure reasons as the rows by device name them.
var reasons = [...]string{
	clients.DroppedOut:        string(results.OutcomeDropped),
	clients.MessageLost:       string(results.OutcomeMessageLost),
	clients.BecameUnavailable: string(results.OutcomeUnavailable),
	clients.BatteryDepleted:   string(results.OutcomeDepleted),
	clients.Canceled:          string(results.OutcomeLate),
	clients.NoTime:            string(results.OutcomeNoTime),
	clients.BatteryLow:        string(results.OutcomeLowBattery),
	clients.TimedOut:          string(results.OutcomeTimedOut),
}

// events writes what happened to messages.
func (r *response) events(all []session.Notice) {
	r.name("events")
	b := append(r.b, '[')
	for i := range all {
		n := &all[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"id":`...), n.ID, 10)
		b = strconv.AppendInt(append(b, `,"client":`...), int64(n.Client), 10)
		b = strconv.AppendInt(append(b, `,"t_ns":`...), int64(n.At), 10)
		b = append(append(append(b, `,"ev":"`...), n.Kind.String()...), '"')
		if n.Kind == session.NoticeFailure {
			b = append(append(append(b, `,"reason":"`...), reasons[n.Why]...), '"')
		}
		b = append(b, '}')
	}
	r.b = append(b, ']')
}

// refused writes the messages that were not sent.
func (r *response) refused(all []session.Refusal) {
	r.list("refused", len(all), func(i int) {
		why := "busy"
		if !all[i].Busy {
			why = reasons[all[i].Why]
		}
		r.b = strconv.AppendInt(append(r.b, `{"id":`...), all[i].ID, 10)
		r.b = append(append(append(r.b, `,"reason":"`...), why...), `"}`...)
	})
}

// row writes the row of a round: the columns of rounds.parquet that fedsim measures.
func (r *response) row(x *results.Round) {
	r.name("row")
	r.b = append(r.b, '{')
	for i := range results.RoundColumns {
		c := &results.RoundColumns[i]
		v := c.Get(x)
		if !c.Kind.Measured() || c.Kind == results.CostColumn && v.IsUnknown() { // costs that nobody counts
			continue
		}
		if v.Type() == results.WholeType && !v.IsUnknown() {
			r.integer(c.Name, v.Whole())
		} else {
			r.float(c.Name, v.Real())
		}
	}
	r.b = append(r.b, '}')
}

func (r *response) fail(e *Error) []byte {
	r.b = append(r.b[:0], `{"error":{`...)
	r.text("code", string(e.Code))
	r.text("message", quote.Line(e.Error()))
	r.textOrNull("field", e.Field)
	r.name("fatal")
	r.b = strconv.AppendBool(r.b, e.Fatal)
	r.b = append(r.b, '}')
	return r.end()
}
