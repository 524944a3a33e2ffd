package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// leafReader reads a file token by token: it holds the numbers of the file, and the text
// of one token. A file has the form
//
//	{"users": ["a"], "num_samples": [2], "user_data": {"a": {"x": [[1, 2], [3, 4]], "y": [0, 1]}}}
//
// with its keys in any order. Other keys, such as "hierarchies", are skipped.
type leafReader struct {
	name   string
	tokens *input.Records
	in     *jsontext.Decoder
	set    *leafSet
	row    []float64

	users  []string
	counts []int
	data   map[string]*leafUser
	order  []*leafUser // in the order of user_data

	user string // of the current value, for messages
	at   int    // row of the current value, from 1; 0: none
}

// leafUser is a user of a file.
type leafUser struct {
	data.Client
	listed bool
}

func newLEAFReader(r io.Reader, name string, set *leafSet) *leafReader {
	tokens := input.NewRecords(r, maxRow)
	return &leafReader{name: name, tokens: tokens, in: jsontext.NewDecoder(tokens), set: set,
		data: map[string]*leafUser{}}
}

// read returns the users of the file in the order of its list "users".
func (r *leafReader) read() ([]*leafUser, error) {
	err := r.object("the file", func(key string) error {
		switch key {
		case "users":
			return r.list(key, func(token jsontext.Token) error {
				if token.Kind() != '"' {
					return r.fail("users must be a list of texts, it has %s", kindOf(token))
				}
				user := token.String()
				if problem := input.RefuseName(user); problem != "" {
					return r.fail("the name of a user %s", problem)
				}
				r.users = append(r.users, user)
				return nil
			})
		case "num_samples":
			return r.list(key, func(token jsontext.Token) error {
				count, problem := r.number(token)
				if problem != "" || count != math.Trunc(count) || math.Abs(count) > 1<<52 {
					return r.fail("num_samples must be a list of whole numbers")
				}
				r.counts = append(r.counts, int(count))
				return nil
			})
		case "user_data":
			return r.object(key, r.userData)
		default:
			return r.skip()
		}
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.in.ReadToken(); err != io.EOF {
		return nil, r.fail("has text after the end of its object")
	}
	return r.listed()
}

// listed checks that the keys of the file agree.
func (r *leafReader) listed() ([]*leafUser, error) {
	if len(r.users) == 0 {
		return nil, r.fail("has no users: must be a LEAF file with the keys users, num_samples and user_data")
	}
	if r.counts != nil && len(r.counts) != len(r.users) {
		return nil, r.fail("has %d users, but num_samples has %d numbers", len(r.users), len(r.counts))
	}
	users := make([]*leafUser, len(r.users))
	for i, name := range r.users {
		r.user = name
		user := r.data[name]
		switch {
		case user == nil:
			return nil, r.fail("is in users, but not in user_data")
		case user.listed:
			return nil, r.fail("is in users more than once")
		case r.counts != nil && r.counts[i] != user.X.Rows:
			return nil, r.fail("has %d rows, but num_samples has %d", user.X.Rows, r.counts[i])
		}
		user.listed = true
		users[i] = user
	}
	for _, user := range r.order {
		if r.user = user.Name; !user.listed {
			return nil, r.fail("is in user_data, but not in users")
		}
	}
	return users, nil
}

// userData reads the rows of a user.
func (r *leafReader) userData(name string) error {
	r.user = name
	defer func() { r.user, r.at = "", 0 }()
	user := &leafUser{Client: data.Client{Name: name, X: data.NewMatrix(0, r.set.features)}}
	r.data[name] = user
	r.order = append(r.order, user)
	err := r.object("the data of a user", func(key string) error {
		r.at = 0
		switch key {
		case "x":
			return r.list(key, func(token jsontext.Token) error {
				r.at++
				return r.features(token, &user.X)
			})
		case "y":
			return r.list(key, func(token jsontext.Token) error {
				r.at++
				y, err := r.label(token)
				user.Y = append(user.Y, y)
				return err
			})
		default:
			return r.skip()
		}
	})
	if r.at = 0; err == nil && len(user.Y) != user.X.Rows {
		return r.fail("x has %d rows, but y has %d labels", user.X.Rows, len(user.Y))
	}
	return err
}

// features adds a row: a list of numbers, or of such lists, in the order of the numbers.
func (r *leafReader) features(token jsontext.Token, x *data.Matrix) error {
	if token.Kind() != '[' {
		return r.fail("x has %s where a row must be a list of numbers", kindOf(token))
	}
	r.row = r.row[:0]
	for depth := 1; depth > 0; {
		token, err := r.next()
		if err != nil {
			return err
		}
		switch token.Kind() {
		case '[':
			depth++
		case ']':
			depth--
		default:
			v, problem := r.number(token)
			if problem != "" {
				return r.fail("feature %d: %s", len(r.row)+1, problem)
			}
			r.row = append(r.row, v)
		}
	}
	switch d := len(r.row); {
	case d == 0:
		return r.fail("has no features: must have at least one number in x")
	case r.set.features == 0:
		r.set.features = d
	case r.set.features != d:
		return r.fail("has %d features, rows before it have %d", d, r.set.features)
	}
	if x.Cols == 0 {
		*x = data.NewMatrix(0, r.set.features)
	}
	start := len(x.Data)
	x.Data = append(x.Data, r.row...)
	for len(x.Data) < start+x.Stride {
		x.Data = append(x.Data, 0)
	}
	x.Rows++
	return nil
}

// label reads a number, a text, or a list of one of these.
func (r *leafReader) label(token jsontext.Token) (float64, error) {
	if token.Kind() != '[' {
		return r.one(token)
	}
	token, err := r.next()
	if err != nil {
		return 0, err
	}
	y, err := r.one(token)
	if err != nil {
		return 0, err
	}
	if token, err = r.next(); err == nil && token.Kind() != ']' {
		err = r.fail("the label is a list of several values: must be a number, a text or a list of one")
	}
	return y, err
}

// one returns a label: a number or a text.
func (r *leafReader) one(token jsontext.Token) (float64, error) {
	if kind := token.Kind(); kind != '0' && kind != '"' {
		return 0, r.fail("the label is %s: must be a number, a text or a list of one", kindOf(token))
	}
	y, problem := r.set.labels.Required(token.String())
	if problem != "" {
		return 0, r.fail("%s", problem)
	}
	return y, nil
}

// number returns a finite number.
func (r *leafReader) number(token jsontext.Token) (v float64, problem string) {
	if token.Kind() != '0' {
		return 0, fmt.Sprintf("is %s, must be a number", kindOf(token))
	}
	v, err := token.Float()
	if err != nil || input.RefuseNumber(v) != "" {
		return 0, fmt.Sprintf("%s is too large, values must be at most 1e100 in size", quote.Text(token.String()))
	}
	return v, ""
}

// object reads an object: read reads the value of each key.
func (r *leafReader) object(what string, read func(key string) error) error {
	return r.inside(what, '{', "an object", func(token jsontext.Token) error { return read(token.String()) })
}

// list reads a list: read takes the first token of each element and reads the rest of it.
func (r *leafReader) list(what string, read func(first jsontext.Token) error) error {
	return r.inside(what, '[', "a list", read)
}

// inside reads an object or a list, which begins with open.
func (r *leafReader) inside(what string, open jsontext.Kind, kind string, read func(jsontext.Token) error) error {
	token, err := r.next()
	if err != nil {
		return err
	}
	if token.Kind() != open {
		return r.fail("%s is %s, must be %s", what, kindOf(token), kind)
	}
	for {
		token, err := r.next()
		if err != nil {
			return err
		}
		if token.Kind() == '}' || token.Kind() == ']' { // the one that matches: others are not JSON
			return nil
		}
		if err := read(token); err != nil {
			return err
		}
	}
}

// skip reads a value of no use.
func (r *leafReader) skip() error {
	for depth := 0; ; {
		token, err := r.next()
		if err != nil {
			return err
		}
		switch token.Kind() {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// next returns the next token, which is valid until the one after it.
func (r *leafReader) next() (jsontext.Token, error) {
	r.tokens.Next()
	token, err := r.in.ReadToken()
	if err == nil {
		return token, nil
	}
	rest := bytes.TrimLeft(r.in.UnreadBuffer(), ",: \t\r\n")
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} { // Python writes them, though they are not JSON
		if bytes.HasPrefix(rest, []byte(word)) {
			if r.user != "" && r.in.StackDepth() == 4 {
				r.at++ // the list of rows counts a row when it has its first token
			}
			return token, r.fail("has %s: must have finite numbers, since LEAF files have no missing values", word)
		}
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		err = syntax.Err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return token,
		&data.ParseError{File: r.name, Problem: fmt.Sprintf("%snot JSON at byte %d", r.place(), r.in.InputOffset()+1),
			Err: err}
}

// fail returns an error at the current user and row.
func (r *leafReader) fail(format string, arguments ...any) error {
	return &data.ParseError{File: r.name, Problem: r.place() + fmt.Sprintf(format, arguments...)}
}

// place returns the current user and row.
func (r *leafReader) place() string {
	switch {
	case r.user == "":
		return ""
	case r.at == 0:
		return fmt.Sprintf("user %s: ", quote.Text(r.user))
	default:
		return fmt.Sprintf("user %s, row %d: ", quote.Text(r.user), r.at)
	}
}

// kindOf names the kind of a token.
func kindOf(token jsontext.Token) string {
	switch token.Kind() {
	case '{':
		return "an object"
	case '[', ']':
		return "a list"
	case '"':
		return "the text " + quote.Text(token.String())
	default: // a number, true, false or null
		return token.String()
	}
}
