package traces

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/engine"
)

// flashFile returns a file of one device with these messages.
func flashFile(messages ...string) string {
	text, err := json.Marshal(map[string]any{"p1": map[string]any{"guid": "x", "messages": strings.Join(messages, "\n")}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// message returns a message of January 2, 2020, the day after the origin of the tests.
func message(clock, state string) string { return "2020-01-02 " + clock + "\t" + state }

func flashOptions() FLASHOptions {
	o := FLASHDefaults()
	o.Origin = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	return o
}

func TestFLASHStates(t *testing.T) {
	day := []string{
		message("00:00:00", "screen_lock"),
		message("00:00:00", "Wifi"),
		message("08:00:00", "battery_charged_on"),
		message("09:00:00", "80.5%"),
		message("10:00:00", "screen_on"),
		message("11:00:00", "screen_unlock"),
		message("12:00:00", "screen_lock"),
		message("12:00:00", "4g"),
		message("13:00:00", "wifi"),
		message("14:00:00", "phone_off"),
		message("15:00:00", "phone_on"),
		message("16:00:00", "battery_charged_off"),
		message("24:00:00", "battery_low"),
	}
	day[12] = "2020-01-03 00:00:00\tbattery_low"
	const standard = `device,time_s,kind,value
p1,0,available,0
p1,0,charging,0
p1,28800,available,1
p1,28800,charging,1
p1,39600,available,0
p1,46800,available,1
p1,50400,available,0
p1,54000,available,1
p1,57600,available,0
p1,57600,charging,0
p1,86400,end,
`
	// The same recording, rotated by six hours within its span.
	const shifted = `device,time_s,kind,value
p1,0,available,0
p1,0,charging,0
p1,7200,available,1
p1,7200,charging,1
p1,18000,available,0
p1,25200,available,1
p1,28800,available,0
p1,32400,available,1
p1,36000,available,0
p1,36000,charging,0
p1,86400,end,
`
	// From noon on, with the seam in the middle.
	const seam = `device,time_s,kind,value
p1,0,available,0
p1,0,charging,1
p1,3600,available,1
p1,7200,available,0
p1,10800,available,1
p1,14400,available,0
p1,14400,charging,0
p1,72000,available,1
p1,72000,charging,1
p1,82800,available,0
p1,86400,end,
`
	const screenOff = `device,time_s,kind,value
p1,0,available,0
p1,0,charging,0
p1,86400,end,
`
	reversed := append([]string{}, day...)
	reversed[2], reversed[9] = reversed[9], reversed[2]
	for _, c := range []struct {
		name     string
		messages []string
		change   func(*FLASHOptions)
		want     string
	}{
		{"a day later", day, func(*FLASHOptions) {}, standard},
		{"midnight before the first", day, func(o *FLASHOptions) { o.Origin = time.Time{} }, standard},
		{"out of order", reversed, func(*FLASHOptions) {}, standard},
		{"empty lines and carriage returns", append(append([]string{"", "  "}, day...), "\r"), func(*FLASHOptions) {}, standard},
		{"from six on", day, func(o *FLASHOptions) { o.Origin = o.Origin.Add(6 * time.Hour) }, shifted},
		{"from noon on", day, func(o *FLASHOptions) { o.Origin = o.Origin.Add(12 * time.Hour) }, seam},
		{"origin after the recording", day, func(o *FLASHOptions) { o.Origin = o.Origin.Add(5*24*time.Hour + 12*time.Hour) }, seam},
		{"no screen was off", day[:10], func(o *FLASHOptions) { o.Need = []string{"screen-off"} }, ""},
	} {
		o := flashOptions()
		c.change(&o)
		if c.want == "" {
			c.messages, c.want = append(append([]string{}, day[:2]...), day[12]), screenOff
		}
		if diff := cmp.Diff(c.want, written(t, FLASH(strings.NewReader(flashFile(c.messages...)), "x", o))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Readings of 80 % at one and 20 % at three: the last one holds across the seam.
func TestFLASHBattery(t *testing.T) {
	const want = `device,time_s,kind,value
p1,0,available,0
p1,0,charging,0
p1,0,battery_level,0.2
p1,3600,battery_level,0.8
p1,10800,battery_level,0.2
p1,14400,end,
`
	file := flashFile(message("00:00:00", "wifi"), message("01:00:00", "80%"), message("03:00:00", "20.0%"), message("04:00:00", "wifi"))
	o := flashOptions()
	o.Origin, o.Battery = time.Time{}, true
	if diff := cmp.Diff(want, written(t, FLASH(strings.NewReader(file), "x", o))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	none := flashFile(message("00:00:00", "wifi"), message("01:00:00", "wifi"))
	if _, err := Collect(FLASH(strings.NewReader(none), "x", o)); err == nil || !strings.Contains(err.Error(), "has no battery reading") {
		t.Errorf("without a reading: %v", err)
	}
}

func TestFLASHSpeeds(t *testing.T) {
	const file = `{"a": {"down_u": 1000, "down_sigma": 450, "up_u": 100, "up_sigma": 0, "model": "M"},
		"b": {"up_sigma": 20, "up_u": 50, "down_sigma": 0, "down_u": 125, "x": [1, {"y": null}]}}`
	o := flashOptions()
	o.Days, o.HoldS, o.Seed = 100, 60, 3
	set := collected(t, FLASH(strings.NewReader(file), "x", o))
	view := NewView(set, InOrder, 0, true)
	// kB/s of 1024 bytes in 10^6 bit/s; constant without deviation.
	if rate, until := view.Lookup(UpMbps, 0, 0); math.Abs(rate-0.8192) > 1e-12 || until != engine.Never {
		t.Errorf("up of a: %v until %v", rate, until)
	}
	if rate, until := view.Lookup(DownMbps, 1, 0); rate != 1.024 || until != engine.Never {
		t.Errorf("down of b: %v until %v, must be 1.024 forever", rate, until)
	}
	// The mean of the positive part of a normal distribution of mean 1 and deviation s
	// is 1 + s phi(1/s)/Phi(1/s). That of 144000 numbers is within 0.005.
	const s = 0.45
	phi := math.Exp(-1/(2*s*s)) / math.Sqrt(2*math.Pi)
	want := 8.192 * (1 + s*phi/(0.5*math.Erfc(-1/(s*math.Sqrt2))))
	span := engine.FromSeconds(100 * 86400)
	if got := area(view, DownMbps, 0, 0, span) / span.Seconds(); math.Abs(got/want-1) > 0.005 {
		t.Errorf("mean down of a %v, must be %v", got, want)
	}
	if _, until := view.Lookup(DownMbps, 0, 61e9); until != 120e9 {
		t.Errorf("a rate holds until %v, must be 2m", until)
	}
}

func TestBadFLASH(t *testing.T) {
	two := []string{message("00:00:00", "wifi"), message("01:00:00", "wifi")}
	for _, c := range []struct{ input, want string }{
		{"", "x: offset 0: the file is cut off"},
		{"[]", "x: offset 1: the file must hold an object of devices"},
		{"{}", "x: offset 2: the object is empty: must have a device"},
		{`{"a"`, "x: offset 4: the file is cut off"},
		{`{"a" 1}`, "is no JSON"},
		{`{"a": 1}`, `x: offset 7: device "a": must be an object`},
		{`{"a": {}}`, `device "a": must have "messages" (states) or "down_u"`},
		{`{"a": {"messages": 5}}`, `must have "messages" (states)`},
		{`{"a": {"messages": "", "down_u": 1}}`, `must have "messages" (states)`},
		{`{"a": {"messages": ""}}`, "has no messages: must have at least two"},
		{`{"a,b": {"messages": ""}}`, `device "\"a,b\"": the name "a,b" must not contain a comma`},
		{`{"a": {"down_u": 0, "down_sigma": 1, "up_u": 1, "up_sigma": 1}}`, "down_u = 0: must be in (0, 1e+09), kB/s"},
		{`{"a": {"down_u": 1, "down_sigma": -1, "up_u": 1, "up_sigma": 1}}`, "down_sigma = -1: must be in [0, 1e+09), kB/s"},
		{`{"a": {"down_u": 1e999}}`, "1e999 is out of range"},
		{`{"a": {"x": ` + strings.Repeat("[", 20_000), "exceeded max depth"},
		{flashFile("wifi"), `message 1 is "wifi": must be a time, a tab and a state`},
		{flashFile("2020-01-02\twifi"), `message 1 has the time "2020-01-02": must be like 2006-01-02 15:04:05`},
		{flashFile("1920-01-02 00:00:00\twifi"), "message 1 is of the year 1920: must be in [1970, 2199]"},
		{flashFile(message("00:00:00", "6g")), `message 1 has the state "6g", which is unknown`},
		{flashFile(message("00:00:00", "x%")), `has the state "x%"`},
		{flashFile(message("00:00:00", "101%")), `has the state "101%"`},
		{flashFile(two[0]), "all messages have the same time: must have at least two times"},
		{flashFile(two...) + "{", "data after the object of devices"},
		{strings.TrimSuffix(flashFile(two...), "}"), "the file is cut off"},
	} {
		_, err := Collect(FLASH(strings.NewReader(c.input), "x", flashOptions()))
		parse, ok := errors.AsType[*ParseError](err)
		if !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q:\n got %v\nwant %s", c.input, err, c.want)
			continue
		}
		if parse.Offset < 0 || parse.Offset > int64(len(c.input)) {
			t.Errorf("%.80q: offset %d of %d bytes", c.input, parse.Offset, len(c.input))
		}
	}
	// An error in one device does not affect the others.
	good := flashFile(two...)
	left := 0
	set, err := Collect(SkipInvalid(FLASH(strings.NewReader(`{"a": [{"b": 1}], "c": {"messages": "x"}, `+good[1:]), "x", flashOptions()), func(error) { left++ }))
	if err != nil || set.Len() != 1 || left != 2 {
		t.Errorf("skipping leaves %v (%v) after %d", set, err, left)
	}
}

// endless is a text that does not end.
type endless struct {
	head string
	read int64
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.head)
	e.head = e.head[n:]
	for i := n; i < len(b); i++ {
		b[i] = 'a'
	}
	e.read += int64(len(b))
	return len(b), nil
}

func TestEndlessFLASHTextIsRefused(t *testing.T) {
	in := &endless{head: `{"p": {"messages": "`}
	_, err := Collect(FLASH(in, "x", flashOptions()))
	if err == nil || !strings.Contains(err.Error(), "a text has more than 16777216 bytes") {
		t.Errorf("got %v", err)
	}
	// The decoder doubles its buffer.
	if in.read > 2*maxFLASHText+1<<20 {
		t.Errorf("%d bytes were read before", in.read)
	}
}

func TestFLASHOptions(t *testing.T) {
	o := FLASHDefaults()
	c := config.NewChecker()
	if o.Validate(c); len(c.Problems()) > 0 {
		t.Errorf("the defaults have %v", c.Problems())
	}
	o = FLASHOptions{Need: []string{"wify"}, Days: -1, HoldS: 0.5, Origin: time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC)}
	o.Validate(c)
	var keys []string
	for _, p := range c.Problems() {
		keys = append(keys, p.Key)
	}
	if diff := cmp.Diff([]string{"need", "days", "hold_s", "origin"}, keys); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func FuzzFLASH(f *testing.F) {
	f.Add([]byte(flashFile(message("00:00:00", "wifi"), message("01:00:00", "battery_charged_on"), message("02:00:00", "5%"))), int64(0))
	f.Add([]byte(`{"a": {"down_u": 1, "down_sigma": 1, "up_u": 1, "up_sigma": 1}}`), int64(1577836800))
	f.Add([]byte(`{"a": {"messages": "x", "b": [[]]}, "c": 1e5}`), int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, origin int64) {
		o := FLASHDefaults()
		o.Battery = origin%2 == 0
		if at := time.Unix(origin, 0).UTC(); ofOurTime(at) {
			o.Origin = at
		}
		// 144 rates each way for each device of at least 8 bytes.
		most := 288 * (len(data)/8 + 1)
		points := 0
		for r, err := range FLASH(bytes.NewReader(data), "x", o) {
			if err != nil {
				parse, ok := errors.AsType[*ParseError](err)
				if !ok || parse.Device == "" && (parse.Offset < 0 || parse.Offset > int64(len(data))) {
					t.Fatalf("%v is no *ParseError with an offset within %d bytes", err, len(data))
				}
				continue
			}
			if err := r.Check(); err != nil {
				t.Fatal(err)
			}
			for _, steps := range r.Steps {
				points += len(steps)
			}
		}
		if points > most {
			t.Fatalf("%d change points of %d bytes", points, len(data))
		}
	})
}
