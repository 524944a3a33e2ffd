package traces

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Reads the pickles of testdata/make_pickles.sh in protocols 2 to 5. The first device is
// from FedScale.
func TestFedScaleAvailability(t *testing.T) {
	const want = `device,time_s,kind,value
3834,0,available,0
3834,12788,available,1
3834,65881,available,0
3834,100044,available,1
3834,133574,available,0
3834,188992,available,1
3834,208292,available,0
3834,271372,available,1
3834,276575,available,0
3834,276663,available,1
3834,295006,available,0
3834,352625,available,1
3834,356236,available,0
3834,356267,available,1
3834,400906,available,0
3834,441193,available,1
3834,475099,available,0
3834,518400,end,
dé,0,available,0
dé,80.5,available,1
dé,90.25,available,0
dé,518000,available,1
dé,518400,end,
7,0,available,0
7,1,end,
`
	files := picklesOf(t)
	for protocol := 2; protocol < 6; protocol++ {
		data := files[fmt.Sprintf("availability%d.pkl", protocol)]
		if diff := cmp.Diff(want, written(t, FedScale(bytes.NewReader(data), "x"))); diff != "" {
			t.Errorf("protocol %d (-want +got):\n%s", protocol, diff)
		}
	}
}

func TestFedScaleCapacity(t *testing.T) {
	// 5648.109619499134 kbit/s of 1024 bit/s, as FedScale's model_update_size counts;
	// computation 81, 162, 162 and 324 have the lower median 162.
	const want = `device,time_s,kind,value
432802,0,down_mbps,5.783664250367113
432802,0,up_mbps,5.783664250367113
432802,0,speed,1
432802,86400,end,
5,0,down_mbps,1.024
5,0,up_mbps,1.024
5,0,speed,2
5,86400,end,
x,0,down_mbps,1.125899906842624e+09
x,0,up_mbps,1.125899906842624e+09
x,0,speed,0.5
x,86400,end,
9,0,down_mbps,5.783664250367113
9,0,up_mbps,5.783664250367113
9,0,speed,1
9,86400,end,
`
	if diff := cmp.Diff(want, written(t, FedScale(bytes.NewReader(picklesOf(t)["capacity.pkl"]), "x"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// device returns a pickle with a valid device and another.
func device(fields string) string {
	return inBytes("(dS'good'\n(dS'finish_time'\nI10\nsS'active'\n(I2\nlsS'inactive'\n(I5\nlssS'bad'\n(d" + fields + "s.")
}

// inBytes writes the numbers and texts of a pickle of protocol 0 as those of protocol 2.
func inBytes(pickle string) string {
	return regexp.MustCompile(`[IFS][^\n]*\n`).ReplaceAllStringFunc(pickle, func(line string) string {
		switch text := line[1 : len(line)-1]; line[0] {
		case 'I':
			n, _ := strconv.Atoi(text)
			return string(binary.LittleEndian.AppendUint32([]byte("J"), uint32(n)))
		case 'F':
			x, _ := strconv.ParseFloat(text, 64)
			return string(binary.BigEndian.AppendUint64([]byte("G"), math.Float64bits(x)))
		default:
			return "U" + string(rune(len(text)-2)) + text[1:len(text)-1]
		}
	})
}

func TestBadFedScale(t *testing.T) {
	const times = "S'active'\n(I1\nI4\nlsS'inactive'\n(I3\nI6\nls"
	for _, c := range []struct{ input, want string }{
		{"].", "x: offset 0: the pickle holds a list: must be a dict of devices"},
		{"}.", "x: offset 0: the dict is empty: must have a device"},
		{"}(u.", "the dict is empty"},
		{"(K\x01Nd.", "x: offset 0: the first device has None: must have a dict"},
		{"(K\x01Nd(K\x02Nu.", "x: offset 9: the first device has None"},
		{"}K\x01Ns.", "x: offset 4: the first device has None"},
		{"}K\x01}s.", `the first device has neither "active" (availability) nor "computation" (capacity)`},
		{device(""), `x: offset 70: device "bad": finish_time is missing`},
		{device(times), "finish_time is missing: must be a time in seconds"},
		{device(times + "S'finish_time'\nI0\ns"), "finish_time = 0: must be positive"},
		{device(times + "S'finish_time'\nI-5\ns"), "finish_time = -5: must not be negative"},
		{device(times + "S'finish_time'\nFnan\ns"), "finish_time = NaN"},
		{device(times + "S'finish_time'\nF1e300\ns"), "finish_time = 1e+300: must be below"},
		{device(times + "S'finish_time'\nNs"), "finish_time is None"},
		{device("S'finish_time'\nI9\nsS'active'\nI9\nsS'inactive'\n(ls"), "active must be a list of times in seconds"},
		{device("S'finish_time'\nI9\nsS'active'\n(ls"), "inactive must be a list"},
		{device("S'finish_time'\nI9\nsS'active'\n(I1\nlsS'inactive'\n(ls"), "has 1 times in active and 0 in inactive: must have equally many"},
		{device("S'finish_time'\nI9\nsS'active'\n(I4\nlsS'inactive'\n(I3\nls"), "inactive[0] = 3s comes before active[0] = 4s"},
		{device("S'finish_time'\nI9\nsS'active'\n(NlsS'inactive'\n(I3\nls"), "active[0] is None"},
		{strings.Replace(device(times+"S'finish_time'\nI9\ns"), "bad", "a,b", 1), `device "\"a,b\"": the name "a,b" `},
		{strings.Replace(device(times+"S'finish_time'\nI9\ns"), "\x03bad", "\x04good", 1), `x: device "good": has two traces`},
		{"}K\x01}(U\x0bcomputationK\x00U\x0dcommunicationK\x01us.", "computation must be a positive number"},
		{"}K\x01}(U\x0bcomputationK\x01U\x0dcommunicationNus.", "communication must be"},
	} {
		_, err := Collect(FedScale(strings.NewReader(c.input), "x"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.input, err, c.want)
		}
	}
	// The valid device remains when the invalid one is skipped.
	skipped := 0
	set, err := Collect(SkipInvalid(FedScale(strings.NewReader(device(times)), "x"), func(error) { skipped++ }))
	if err != nil || set.Len() != 1 || set.Name(0) != "good" || skipped != 1 {
		t.Errorf("skipping leaves %v (%v) after %d", set, err, skipped)
	}
}

// Intervals overlap, touch, are empty, out of order and beyond the end.
func TestFedScaleUnion(t *testing.T) {
	r := &Trace{Name: "d", Span: 100}
	r.union(Available, []interval{{70, 80}, {0, 5}, {5, 9}, {20, 40}, {30, 35}, {38, 50}, {60, 60}, {90, 100}, {95, 100}, {120, 100}})
	want := []Step{{0, 1}, {9, 0}, {20, 1}, {50, 0}, {70, 1}, {80, 0}, {90, 1}}
	if diff := cmp.Diff(want, r.Steps[Available]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A small file can describe a thousand devices that share one long list.
func TestSharedListsAreBounded(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("](")
	for range 10000 {
		b.WriteString("K\x05")
	}
	b.WriteString("eq\x000}(")
	for i := range 1000 {
		b.Write([]byte{opBinInt2, byte(i), byte(i >> 8)})
		b.WriteString("}(U\x0bfinish_timeK\x09U\x06activeh\x00U\x08inactiveh\x00u")
	}
	b.WriteString("u.")
	_, err := Collect(fedScale(&b, "x", 1<<22))
	if err == nil || !strings.Contains(err.Error(), "the lists shared by devices would take too much memory") {
		t.Errorf("got %v", err)
	}
}
