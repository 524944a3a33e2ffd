package data

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// An index of pandas is refused, unless data.columns names it or it is the client or the label.
func TestPandasIndex(t *testing.T) {
	const refused = "the column %s is an index of pandas; name it in data.columns to use it, " +
		"or in data.drop_columns to leave it out"
	for _, c := range []struct {
		header  string
		change  func(*Config)
		problem string // in place of the name; empty: it is read
	}{
		{",client,label,x", nil, `"Unnamed: 0"`},
		{"Unnamed: 0,client,label,x", nil, `"Unnamed: 0"`},
		{"Unnamed: 0.1,client,label,x", nil, `"Unnamed: 0.1"`},
		{"__index_level_0__,client,label,x", nil, `"__index_level_0__"`},
		{"client,label,x,Unnamed: 3", nil, `"Unnamed: 3"`},
		{",client,label,x", func(c *Config) { c.DropColumns = NamesOf("Unnamed: 0") }, ""},
		{",client,label,x", func(c *Config) { c.Columns = NamesOf("Unnamed: 0", "x") }, ""},
		{",client,label,x", func(c *Config) { c.Columns = NamesOf("x") }, ""},
		{",y,label,x", func(c *Config) { c.ClientColumn = "Unnamed: 0" }, ""},
		{"Unnamed,client,label,index", nil, ""},
	} {
		_, err := parseCSV(c.header+"\n0,1,2,3\n1,4,3,5\n", func(cfg *Config) {
			cfg.LabelColumn, cfg.Target = "label", TargetReal
			if c.change != nil {
				c.change(cfg)
			}
		})
		expect.That(t, c.problem != "" || err == nil, "%s: %v", c.header, err)
		if want := strings.Replace(refused, "%s", c.problem, 1); c.problem != "" &&
			(err == nil || !strings.HasSuffix(err.Error(), want) || !strings.HasPrefix(err.Error(), "in.csv:1:")) {
			t.Errorf("%s: %v, want %s", c.header, err, want)
		}
	}
	if _, err := parseCSV("client,label,x,\n1,2,3,4\n", nil...); err == nil ||
		!strings.Contains(err.Error(), `the column's name is empty (to leave it out: data.drop_columns = [""])`) {
		t.Errorf("a name is missing at the end: %v", err)
	}
}
