package driven

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"fedsim/devices"
	"fedsim/federation/session"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/pipe"
	"fedsim/results"
)

// A line that is wrong is answered with an error that names the op and the field.
func TestWrongLines(t *testing.T) {
	message := func(fields string) string {
		return `{"op":"send","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1,"flops":1,` +
			`"up_bytes":1},{` + fields + `}]}`
	}
	for _, c := range []struct{ line, code, field, text string }{
		{`[]`, "type", "", "must be a JSON object, not a list"},
		{`nonsense`, "syntax", "",
			"byte 2: invalid character 'o' in literal null (expecting 'u'): must be a JSON object"},
		{`{"op":"available"`, "syntax", "", "available: the line ends within the JSON object"},
		{`{"op":"available",}`, "syntax", "",
			`available: byte 19: invalid character '}' at start of string (expecting '"')`},
		{`{"op" "available"}`, "syntax", "op",
			"op: byte 7: invalid character '\"' after object name (expecting ':'): must be a string"},
		{`{"op":"no` + "\x01" + `des"}`, "syntax", "op",
			`op: byte 10: invalid character '\x01' in string (expecting non-control character): must be a string`},
		{`{"op":"\x"}`, "syntax", "op", "op: byte 8: invalid escape sequence `\\x` in string: must be a string"},
		{`{}`, "type", "op", "op: is missing: must be one of hello, available, select, send, wait, exchange, work, " +
			"advance, cancel, close, finish"},
		{`{"op":"jump"}`, "unknown-op", "op", "jump: op: is unknown: must be one of hello, available, select, send, " +
			"wait, exchange, work, advance, cancel, close, finish"},
		{`{"op":7}`, "type", "op", "op: must be a string, not 7"},
		{`{"op":"available","Op":"nodes"}`, "unknown-field", "Op",
			"available: Op: is not a field here: known are none"},
		{`{"op":"wait","msgs":[]}`, "unknown-field", "msgs",
			"wait: msgs: is not a field here: known are ids, count, until_ns"},
		{`{"op":"advance"}`, "type", "until_ns", "advance: until_ns: is missing"},
		{`{"op":"advance","until_ns":-1}`, "type", "until_ns",
			"advance: until_ns: must be an integer of nanoseconds, not negative, not -1"},
		{`{"op":"advance","until_ns":9223372036854775807}`, "type", "until_ns",
			"advance: until_ns: must be an integer of nanoseconds, not negative, not 9223372036854775807"},
		{`{"op":"wait","count":0}`, "type", "count", "wait: count: must be a positive integer, not 0"},
		{`{"op":"wait","ids":[1,"2"]}`, "type", "ids[1]",
			"wait: ids[1]: must be an id, a positive integer, not a string"},
		{`{"op":"wait","ids":[1 2]}`, "syntax", "ids",
			"wait: ids: byte 23: invalid character '2' after array element (expecting ',' or ']'): must be an id, " +
				"a positive integer"},
		{`{"op":"wait","ids":{}}`, "type", "ids", "wait: ids: must be a list, not an object"},
		{`{"op":"select","round":-1}`, "type", "round", "select: round: must be an integer in [0, 2^31), not -1"},
		{`{"op":"work","id":0,"flops":1,"up_bytes":1}`, "type", "id", "work: id: must be a positive integer, not 0"},
		{`{"op":"work","id":1,"flops":NaN,"up_bytes":1}`, "type", "flops",
			"work: flops: must be a number of FLOPs in [0, 1e24], not NaN"},
		{`{"op":"work","id":1,"flops":-1e-9,"up_bytes":1}`, "type", "flops",
			"work: flops: must be a number of FLOPs in [0, 1e24], not -1e-9"},
		{`{"op":"work","id":1,"flops":01,"up_bytes":1}`, "syntax", "",
			"work: byte 30: invalid character '1' after object value (expecting ',' or '}'): " +
				"must be a number of FLOPs in [0, 1e24]"},
		{`{"op":"available"` + " \x80}", "syntax", "",
			`available: byte 19: invalid character '\x80' after object value (expecting ',' or '}')`},
		{`{"op":"work","id":1,"flops":1,"up_bytes":9007199254740993}`, "type", "up_bytes",
			"work: up_bytes: must be an integer of bytes in [0, 2^53], not 9007199254740993"},
		{message(`"id":2`), "type", "msgs[1]", "send: msgs[1]: client is missing"},
		{message(`"id":2,"client":0,"down_bytes":1,"flops":1`), "type", "msgs[1]",
			"send: msgs[1]: up_bytes is missing"},
		{message(`"id":2,"client":0,"down_bytes":1,"flops":null,"up_bytes":1`), "type", "msgs[1]",
			"send: msgs[1]: flops and up_bytes must both be null, or neither"},
		{message(`"bytes":2`), "unknown-field", "msgs[1].bytes",
			"send: msgs[1].bytes: is not a field here: known are id, client, down_bytes, flops, up_bytes, steps, " +
				"traffic_bytes, expires_ns"},
		{message(`"client":-1`), "type", "msgs[1].client",
			"send: msgs[1].client: must be the number of a client, an integer from 0 on, not -1"},
		{message(`"expires_ns":0`), "type", "msgs[1].expires_ns",
			"send: msgs[1].expires_ns: must be null or a positive integer of nanoseconds, not 0"},
		{`{"op":"send","round":1,"kind":"","msgs":[]}`, "type", "kind", "send: kind: must not be empty"},
		{`{"op":"exchange","round":1,"kind":"train","msgs":[],"policy":1}`, "type", "policy",
			"exchange: policy: must be true or false, not 1"},
		{`{"op":"close","round":1,"metrics":[{"split":"test","name":"a","value":1e400}]}`, "type", "metrics[0].value",
			"close: metrics[0].value: must be a finite number or null, not 1e400"},
		{`{"op":"close","round":1,"metrics":[{"split":"test"}]}`, "type", "metrics[0]",
			"close: metrics[0]: name is missing"},
		{`{"op":"close","round":1,"clients":[{"split":"test","name":"a","clients":[0]}]}`, "type", "clients[0]",
			"close: clients[0]: values is missing"},
		{`{"op":"close","round":1,"clients":[{"split":"test","name":"a","clients":[0],"values":[NaN]}]}`, "type",
			"clients[0].values[0]", "close: clients[0].values[0]: must be a finite number, not NaN"},
		{`{"op":"work","id":1,"flops":1,"up_bytes":1,"steps":-1}`, "type", "steps",
			"work: steps: must be a number of steps in [0, 1e24], not -1"},
		{`{"op":"work","id":1,"flops":1,"up_bytes":1,"traffic_bytes":1e999}`, "type", "traffic_bytes",
			"work: traffic_bytes: must be a number of bytes of memory in [0, 1e24], not 1e999"},
		{`{"op":"send","round":1,"kind":"train","msgs":[{"id":1,"client":0,"down_bytes":1,"flops":null,` +
			`"up_bytes":null,"steps":2}]}`, "type", "msgs[0]",
			`send: msgs[0]: steps and traffic_bytes must be left out where flops is null: they come with "work"`},
		{`{"op":"finish","state":"over"}`, "type", "state", `finish: state: must be "done" or "failed"`},
		{`{"op":"finish","state":"done","model_sha256":"AB"}`, "type", "model_sha256",
			"finish: model_sha256: must be 64 hexadecimal digits"},
		{`{"op":"hello","v":[1],"driver":"x","method":"y","seed":-1}`, "type", "seed",
			"hello: seed: must be an integer in [0, 2^63), not -1"},
		{`{"op":"hello","v":[1],"driver":"x","method":"y","notes":{"a":1}}`, "type", "notes.a",
			"hello: notes.a: must be a string, not 1"},
		{`{"op":"hello","v":1,"driver":"x","method":"y"}`, "type", "v", "hello: v: must be a list, not 1"},
	} {
		var r request
		err := r.parse(new(pipe.Decoder), []byte(c.line))
		if err == nil {
			t.Errorf("%s: no error", c.line)
			continue
		}
		if string(err.Code) != c.code || err.Field != c.field || err.Error() != c.text {
			t.Errorf("%s:\n got %s %q %q\nwant %s %q %q", c.line, err.Code, err.Field, err.Error(), c.code, c.field,
				c.text)
		}
	}
}

// Every field is read, in any order and with any spaces and escapes.
func TestRequests(t *testing.T) {
	var r request
	line :=
		` { "msgs" : [ {"up_bytes":3,"id":7,"flops":2.5e6,"traffic_bytes":4e9,"steps":12,"client":2,"down_bytes":9007199254740992,"expires_ns":5} ,
		{"id":8,"client":0,"down_bytes":0,"flops":null,"up_bytes":null,"expires_ns":null}], "kind":"tr\u0061in",` +
			"\t" + `"until_ns":null,"count":2,"round":1,"op":"exchange","policy":false}`
	if err := r.parse(new(pipe.Decoder), []byte(line)); err != nil {
		t.Fatal(err)
	}
	want := []session.Message{
		{ID: 7, Client: 2, BytesDown: 1 << 53, Work: devices.Work{FLOPs: 2.5e6, Steps: 12, Traffic: 4e9}, BytesUp: 3,
			Expires: 5},
		{ID: 8, Undecided: true},
	}
	diff := cmp.Diff(want, r.messages)
	expect.That(t, diff == "" && r.kind == "train" && r.count == 2 && r.round == 1, "%+v\n%s", r, diff)
	line =
		`{"op":"close","round":4,"taken":[1,2],"flops":3,"metrics":[{"split":"train","name":"loss","value":-0.5,"better":"lower","unit":"nat"}],
		"clients":[{"split":"test","name":"accuracy","clients":[0,3],"values":[0.9,1],"rows":[7,null]}]}`
	if err := r.parse(new(pipe.Decoder), []byte(line)); err != nil {
		t.Fatal(err)
	}
	if diff :=
		cmp.Diff(
			[]results.ClientMetric{{Split: "test", Name: "accuracy", Clients: []int32{0, 3}, Values: []float64{0.9, 1},
				Rows: []int32{7, results.UnknownCount}}}, r.clients); diff != "" {
		t.Error(diff)
	}
	loss := metric{results.NamedMetric{Split: "train", Name: "loss", Better: "lower", Unit: "nat"}, -0.5, true}
	if len(r.messages) != 0 || r.work.FLOPs != 3 || !cmp.Equal(r.taken, []int64{1, 2}) || len(r.metrics) != 1 ||
		r.metrics[0] != loss {
		t.Errorf("%+v", r)
	}
}

// Parsing the messages of a batch allocates nothing for a message.
func TestParsingAllocatesLittle(t *testing.T) {
	var r request
	c := new(pipe.Decoder)
	line := batch(1, 100)
	allocated := testing.AllocsPerRun(20, func() {
		err := r.parse(c, line)
		expect.Must(t, err == nil, "%v", err)
	})
	expect.That(t, allocated <= 5, "%g allocations for 100 messages", allocated)
}

// batch is a send of n messages with ids from first on, one to a client.
func batch(first, n int) []byte {
	type message struct {
		ID     int     `json:"id"`
		Device int     `json:"client"`
		Down   int     `json:"down_bytes"`
		FLOPs  float64 `json:"flops"`
		Up     int     `json:"up_bytes"`
	}
	request := struct {
		Op    string    `json:"op"`
		Round int       `json:"round"`
		Kind  string    `json:"kind"`
		Msgs  []message `json:"msgs"`
	}{"exchange", 1, "train", nil}
	for i := range n {
		request.Msgs = append(request.Msgs, message{first + i, i, 4512, 1.25e6, 4512})
	}
	text, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	return text
}

// FuzzRequest parses any line: encoding/json reads an accepted line to the same numbers,
// and an error is one line.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		hello, `{"op":"available"}`, `{"op":"wait","ids":[1,2],"count":1,"until_ns":12}`, string(batch(1, 2)),
		`{"op":"close","round":1,"taken":[],"flops":1e3,"metrics":[{"split":"","name":"x","value":-1.5E-3}],` +
			`"clients":[{"split":"","name":"x","clients":[1],"values":[0]}]}`,
		`{"op":"work","id":1,"flops":0.5,"up_bytes":7}`, `{"op":"finish","state":"failed"}`,
		`{"op":"advance","until_ns":-0}`,
	} {
		f.Add([]byte(line))
	}
	var r request
	c := new(pipe.Decoder)
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsRune(line, '\n') {
			return
		}
		if err := r.parse(c, line); err != nil {
			answer := string(new(response).fail(err))
			expect.Must(t, strings.Count(answer, "\n") == 1 && json.Valid([]byte(answer)), "%q gives %q", line, answer)
			return
		}
		expect.Must(t, jsontext.Value(line).IsValid(), "%q: accepted, but not by the JSON library", line)
		var want struct {
			Op    string
			Msgs  []struct{ FLOPs, ID *float64 }
			FLOPs float64
			IDs   []int64
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("%q: accepted, but: %v", line, err)
		}
		if want.Op != r.op || len(want.Msgs) != len(r.messages) ||
			math.Float64bits(want.FLOPs) != math.Float64bits(r.work.FLOPs) || len(want.IDs) != len(r.ids) {
			t.Fatalf("%q: got %+v, want %+v", line, r, want)
		}
		for i, m := range want.Msgs {
			expect.Must(t, (m.FLOPs == nil || *m.FLOPs == r.messages[i].FLOPs) && *m.ID == float64(r.messages[i].ID),
				"%q: message %d: %+v", line, i, r.messages[i])
		}
	})
}
