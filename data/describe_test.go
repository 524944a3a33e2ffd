package data

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	set := numbered(1, 3, 5, 0)
	set.Generated = true
	_ = (&Config{Bias: true}).transform(set, nil)
	set.Features++ // a feature of zeros in the padding
	for k := range set.Clients {
		set.Clients[k].X.Cols++
	}
	got := Describe(set)
	want := Description{
		Name: "numbered", Generated: true, Tasks: 4, Features: 4, Rows: 9,
		RowsMin: 0, RowsMax: 5, RowsMean: 2.25,
		// squares about 2.25: 1.5625 + 0.5625 + 7.5625 + 5.0625 = 14.75
		RowsDeviation: math.Sqrt(14.75 / 3),
		PositiveShare: 6.0 / 9, PositiveMin: 0.6, PositiveMax: 1,
		OneClassTasks: 1, ZeroFeatures: 1, ConstantFeatures: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	const table = `data set              numbered
source                generated
clients m             4
features d            4
rows                  9
rows per client       0 to 5, mean 2.2, standard deviation 2.22
positive labels       66.7 %, by client 60.0 to 100.0 %
clients of one class  1
zero features         1
constant features     1
`
	if diff := cmp.Diff(table, got.String()); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if n, err := got.WriteTo(&out); err != nil || n != int64(out.Len()) || out.String() != table {
		t.Errorf("wrote %d bytes, error %v:\n%s", n, err, out.String())
	}
	if _, err := got.WriteTo(new(failing)); !errors.Is(err, errFull) {
		t.Errorf("a full disk gives %v", err)
	}
}

func TestDescribeClasses(t *testing.T) {
	set := &Set{Name: "digits", Classes: []string{"zero", "one", "two"}, Clients: []Client{
		{X: NewMatrix(4, 0), Y: []float64{0, 0, 1, 0}}, {X: NewMatrix(2, 0), Y: []float64{2, 2}}, {},
		{X: NewMatrix(3, 0), Y: []float64{2, 1, 0}},
	}}
	const table = `data set              digits
source                from a file
clients m             4
features d            0
rows                  9
rows per client       0 to 4, mean 2.2, standard deviation 1.71
classes C             3
rows per class        zero:4, one:2, two:3
classes per client    1 to 3, mean 2.0
largest class         33.3 to 100.0 % of a client, mean 69.4 %
clients of one class  1
zero features         0
constant features     0
`
	diff := cmp.Diff(table, Describe(set).String())
	expect.That(t, diff == "", "%v", diff)
	set.Clients = nil
	d := Describe(set)
	expect.That(t, d.ClassesMax == 0 && len(d.ClassRows) == 3, "without tasks: %+v", d)
	for c := range 110 {
		set.Classes = append(set.Classes, fmt.Sprint(c))
	}
	d = Describe(set)
	expect.That(t, strings.HasSuffix(d.listClasses(), ", 96:0 and 13 more"), "classes: %s", d.listClasses())
}

func TestDescribeMissing(t *testing.T) {
	for missing, want := range map[string]string{
		MissingDrop: "rows                  3\n", MissingMean: "missing values        2 in 1 rows of the file, " +
			"filled in with means\nmissing by column     \"x\": 1, \"y\": 1\n",
	} {
		set := parsedCSV(t, "client,label,x,y\n1,no,,NA\n1,yes,1,2\n1,no,3,4\n2,yes,1,2\n",
			func(c *Config) { c.Missing = missing })
		if got := Describe(set).String(); !strings.Contains(got, want) ||
			!strings.Contains(got, "labels                -1 is no, +1 is yes\n") {
			t.Errorf("%s: described as\n%s", missing, got)
		}
	}
}

func TestDescribeNothing(t *testing.T) {
	d := Describe(&Set{Features: 3})
	if d.Tasks != 0 || d.RowsDeviation != 0 || !math.IsNaN(d.PositiveShare) || !math.IsNaN(d.RowsMean) ||
		d.ZeroFeatures != 0 {
		t.Errorf("%+v", d)
	}
}
