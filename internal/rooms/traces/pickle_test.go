package traces

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func picklesOf(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*.pkl")
	if err != nil || len(names) < 10 {
		t.Fatalf("found the pickles %v (%v)", names, err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// plain returns a value as a Go value.
func (p *pickle) plain(v value) any {
	switch v.tag {
	case none:
		return nil
	case boolean:
		return v.bits == 1
	case whole:
		return int64(v.bits)
	case real:
		return math.Float64frombits(v.bits)
	case text:
		return p.texts[v.bits]
	}
	all := []any{v.tag.String()}
	items := []value(nil)
	if v.tag == dict {
		items = p.dicts[v.bits].items
	} else {
		items = p.lists[v.bits]
	}
	for _, x := range items {
		all = append(all, p.plain(x))
	}
	return all
}

func decode(input string) (any, error) {
	p, root, err := decodePickle(strings.NewReader(input), "x.pkl", 1<<20)
	if err != nil {
		return nil, err
	}
	return p.plain(root), nil
}

// Each opcode gives the same value as Python's own decoder (see pickletools).
func TestPickleOpcodes(t *testing.T) {
	list := func(x ...any) any { return append([]any{"a list"}, x...) }
	tuple := func(x ...any) any { return append([]any{"a tuple"}, x...) }
	dict := func(x ...any) any { return append([]any{"a dict"}, x...) }
	for input, want := range map[string]any{
		"N.":                        nil,
		"\x88.":                     true,
		"\x89.":                     false,
		"J\xff\xff\xff\xff.":        int64(-1),
		"K\xff.":                    int64(255),
		"M\x01\x02.":                int64(513),
		"\x8a\x00.":                 int64(0),
		"\x8a\x02\x00\xff.":         int64(-256),
		"\x8b\x01\x00\x00\x00\x7f.": int64(127),
		"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.": int64(math.MinInt64),
		"G\x3f\xf8\x00\x00\x00\x00\x00\x00.":        1.5,
		"T\x02\x00\x00\x00ab.":                      "ab",
		"U\x02ab.":                                  "ab",
		"X\x02\x00\x00\x00ab.":                      "ab",
		"\x8c\x02ab.":                               "ab",
		"\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab.":   "ab",
		"].":                  list(),
		"(K\x01K\x02l.":       list(int64(1), int64(2)),
		"]K\x01a.":            list(int64(1)),
		"](K\x01K\x02e.":      list(int64(1), int64(2)),
		").":                  tuple(),
		"(K\x01t.":            tuple(int64(1)),
		"K\x01\x85.":          tuple(int64(1)),
		"K\x01K\x02\x86.":     tuple(int64(1), int64(2)),
		"NK\x02K\x03\x87.":    tuple(nil, int64(2), int64(3)),
		"}.":                  dict(),
		"(K\x01Nd.":           dict(int64(1), nil),
		"}K\x01Ns.":           dict(int64(1), nil),
		"}(K\x01NK\x02Nu.":    dict(int64(1), nil, int64(2), nil),
		"K\x010N.":            nil,
		"(0N.":                nil,
		"N(K\x01K\x021.":      nil,
		"K\x012\x86.":         tuple(int64(1), int64(1)),
		"]K\x01q\x00a0h\x00.": int64(1),
		"K\x07r\x00\x00\x00\x000j\x00\x00\x00\x00.":                    int64(7),
		"\x80\x04\x95\x04\x00\x00\x00\x00\x00\x00\x00K\x07\x940h\x00.": int64(7),
		"K\x07q\x010h\x01.": int64(7), // Python 2 counts from 1
	} {
		got, err := decode(input)
		if err != nil {
			t.Errorf("%q: %v", input, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", input, diff)
		}
	}
}

func TestBadPickles(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{"", "x.pkl: offset 0: unexpected end of the pickle: the file is truncated"},
		{"N", "x.pkl: offset 1: unexpected end of the pickle"},
		{"]K\x01", "x.pkl: offset 3: unexpected end of the pickle"},
		{"X\xff\xff\xff\xff", "x.pkl: offset 0: a text claims 4294967295 bytes: must have at most 1048576"},
		{"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "x.pkl: offset 0: a text claims 18446744073709551615 bytes"},
		{"X\x00\x00\x10\x00ab", "x.pkl: offset 0: unexpected end of the pickle"},
		{"N.N.", "x.pkl: offset 2: data after the pickle"},
		{"NN.", "x.pkl: offset 2: opcode STOP with several objects on the stack"},
		{"(N.", "x.pkl: offset 2: opcode STOP"},
		{".", "x.pkl: offset 0: the opcode takes more objects than there are"},
		{"0", "takes more objects"},
		{"2", "takes more objects"},
		{"N\x86.", "x.pkl: offset 1: the opcode takes more objects"},
		{"](N\x86.", "x.pkl: offset 3: the opcode takes more objects"}, // not across a mark
		{"](K\x01a.", "x.pkl: offset 4: the opcode takes more objects"},
		{"(K\x01e.", "x.pkl: offset 3: the opcode takes more objects"},
		{"t.", "x.pkl: offset 0: the opcode closes a mark, and none is open"},
		{"1", "closes a mark"},
		{"(K\x01d.", "x.pkl: offset 3: a dict has a key without a value"},
		{"}]Ns.", "a dict has a list as a key: must be a text or an int"},
		{"NK\x01a.", "the opcode puts items into None"},
		{")K\x01a.", "items into a tuple"},
		{"]K\x01Ns.", "items into a list"},
		{"h\x00.", "x.pkl: offset 0: the memo has no object 0"},
		{"Nq\x01h\x00.", "the memo has no object 0"},
		{"Nr\xff\xff\xff\xff", "x.pkl: offset 1: the memo's object 4294967295 comes after 6 bytes: its numbers must have no gaps"},
		{"q\x00", "takes more objects"},
		{"\x80\x06N.", "x.pkl: offset 0: protocol 6: must be 2 to 5"},
		{"\x8a\x09123456789.", "an int has more than 64 bits"},
		{"\x8b\xff\xff\xff\xff.", "64 bits"},
		{"U\x01\xff.", "a text is not UTF-8"},
		{strings.Repeat("(", 65), "x.pkl: offset 64: more than 64 lists, dicts and tuples are open at once"},
		{strings.Repeat("N", 1<<16) + strings.Repeat("2", 1<<16), "the values take more than 1048576 bytes"},
		{"I1\n.", "x.pkl: offset 0: opcode INT is of protocol 0 or 1, and must be of 2 to 5: write the file again with Python 3: pickle.dump("},
		{"\xff", "x.pkl: offset 0: unknown opcode 0xff: the file is corrupt or not a pickle of protocol 2 to 5"},
	} {
		_, err := decode(c.input)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q:\n got %v\nwant %s", c.input, err, c.want)
		}
	}
}

// All 256 opcodes that do not make plain values are rejected, by name if they have one.
func TestPicklesRunNothing(t *testing.T) {
	made := "(.012JKMNTUX" + "a" + "d}ehjl]qrst)uG" + "\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x94\x95"
	refused := 0
	for op := range 256 {
		err := (&pickle{in: nil}).refused(byte(op), made)
		name, runs := running[byte(op)]
		switch {
		case strings.IndexByte(made, byte(op)) >= 0:
			if runs || foreign[byte(op)] != "" {
				t.Errorf("opcode 0x%02x is both made and refused", op)
			}
			continue
		case err == nil:
			t.Errorf("opcode 0x%02x is not refused", op)
		case runs && !strings.Contains(err.Error(), "opcode "+name+" would run code"):
			t.Errorf("opcode %s: %v", name, err)
		}
		refused++
	}
	if refused != 256-len(made) {
		t.Errorf("%d opcodes are refused, must be %d", refused, 256-len(made))
	}
}

// refused returns the error of do for an opcode.
func (p *pickle) refused(op byte, made string) error {
	if strings.IndexByte(made, op) >= 0 {
		return nil
	}
	return p.do(op)
}

func TestPicklesOfObjects(t *testing.T) {
	files := picklesOf(t)
	for name, want := range map[string]string{
		"global2.pkl":   "x: offset 23: opcode GLOBAL would run code or fetch objects of Python, which is not allowed; if the numbers are numpy's",
		"global4.pkl":   "opcode STACK_GLOBAL would run code",
		"bytes.pkl":     "opcode SHORT_BINBYTES makes bytes or sets",
		"wide.pkl":      "64 bits",
		"recursive.pkl": "the pickle holds a list",
	} {
		_, err := Collect(FedScale(bytes.NewReader(files[name]), "x"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must say %q", name, err, want)
		}
	}
}

// Every prefix of every pickle is rejected at an offset within it.
func TestPicklesCutOff(t *testing.T) {
	for name, data := range picklesOf(t) {
		for n := range data {
			_, _, err := decodePickle(bytes.NewReader(data[:n]), "x", 1<<20)
			parse, ok := errors.AsType[*ParseError](err)
			if !ok || parse.Offset < 0 || parse.Offset > int64(n) {
				t.Fatalf("%s, %d bytes of it: %v", name, n, err)
			}
		}
	}
}

func FuzzPickle(f *testing.F) {
	for _, data := range picklesOf(f) {
		f.Add(data)
	}
	f.Add([]byte("}(u."))
	f.Add([]byte("(K\x01K\x02d(K\x03K\x04u."))
	f.Add([]byte("(dp0\nI5\n(dp1\nS'active'\n(lp2\nI3\nasS'inactive'\n(I4\ntsS'finish_time'\nF9.5\nss."))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _, err := decodePickle(bytes.NewReader(data), "x", 1<<30)
		if err != nil {
			if _, ok := errors.AsType[*ParseError](err); !ok {
				t.Fatalf("%v is no *ParseError", err)
			}
			return
		}
		// The most expensive byte is an empty list: a header and its place on the stack.
		// A memo number may be as high as the offset.
		if most := int64(len(data))*(32+2*valueBytes) + 1024; p.used > most {
			t.Fatalf("%d bytes are held of %d: must be at most %d", p.used, len(data), most)
		}
		points := 0
		for r, err := range fedScale(bytes.NewReader(data), "x", 1<<24) {
			if err != nil {
				if _, ok := errors.AsType[*ParseError](err); !ok {
					t.Fatalf("%v is no *ParseError", err)
				}
				continue
			}
			if err := r.Check(); err != nil {
				t.Fatal(err)
			}
			points += len(r.Steps[Available])
		}
		if points*valueBytes > 1<<24+len(data)*valueBytes {
			t.Fatalf("%d change points of %d bytes", points, len(data))
		}
	})
}

// decodePickle reads the only object in r.
func decodePickle(r io.Reader, name string, limit int64) (p *pickle, root value, err error) {
	p = newPickle(r, limit)
	if root, err = p.decode(name); err != nil {
		return nil, value{}, err
	}
	return p, root, nil
}
