package config

import (
	"strconv"
	"strings"
)

// Amount is a number, or a share of all: in TOML 10 or "10 %". The zero Amount is neither.
type Amount struct {
	Count int
	Share float64 // in (0, 1]
}

var _ Custom = (*Amount)(nil)

// TypeTOML returns the type.
func (*Amount) TypeTOML() string { return "integer or string" }

// DecodeTOML takes a number, or a text as "10 %".
func (a *Amount) DecodeTOML(n *Node, key string) Errors {
	*a = Amount{}
	if count, ok := n.integer(); ok && count >= 0 && count <= 1<<31-1 {
		a.Count = int(count)
		return nil
	}
	text, _ := n.Value().(string)
	number, isShare := strings.CutSuffix(text, "%")
	if x, err := strconv.ParseFloat(strings.TrimSpace(number), 64); isShare && err == nil && x > 0 && x <= 100 {
		a.Share, _ = strconv.ParseFloat(strconv.FormatFloat(x/100, 'g', 15, 64), 64)
		return nil
	}
	var problems Errors
	problems.AddProblem(n.Place, Problem{
		Key: key, Value: n.Value(), Want: `must be a whole number, or a share as "10 %"`})
	return problems
}

// MarshalTOML returns the value.
func (a Amount) MarshalTOML() ([]byte, error) {
	if a.Share > 0 {
		return strconv.AppendQuote(nil, a.String()), nil
	}
	return []byte(a.String()), nil
}

// String returns a text as 10 or 10 %.
func (a Amount) String() string {
	if a.Share > 0 {
		return strconv.FormatFloat(100*a.Share, 'g', 14, 64) + " %"
	}
	return strconv.Itoa(a.Count)
}
