package plots

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// labelClients returns n names.
func labelClients(n int) (names []string) {
	for k := range n {
		names = append(names, fmt.Sprint(k+1))
	}
	return names
}

// fewLabels has a disc for each class of 12 clients: client k has most rows of class k mod
// 4.
func fewLabels() Labels {
	l := Labels{Title: "digits, 12 clients", Classes: []string{"zero", "one", "two", "three"},
		Clients: labelClients(12)}
	for k := range l.Clients {
		rows := make([]int, 4)
		rows[k%4], rows[(k+1)%4] = 40+10*k, k
		l.Rows = append(l.Rows, rows)
	}
	return l
}

// manyLabels has more clients than discs, with sizes that decrease.
func manyLabels(clients, classes int) Labels {
	l := Labels{Title: "letters", Clients: labelClients(clients)}
	for c := range classes {
		l.Classes = append(l.Classes, fmt.Sprintf("class %d", c))
	}
	for k := range l.Clients {
		rows := make([]int, classes)
		for c := range rows {
			if d := (c + k) % classes; d < 4 {
				rows[c] = 1 + 100/(1+k/20)/(1+d*d)
			}
		}
		l.Rows = append(l.Rows, rows)
	}
	return l
}

// realLabels has real targets around the number of the client.
func realLabels(clients int) Labels {
	l := Labels{Title: "scores", Clients: labelClients(clients)}
	for k := range clients {
		var y []float64
		for i := range 41 {
			y = append(y, float64(k%17)+float64(i-20)/5)
		}
		l.Targets = append(l.Targets, y)
	}
	return l
}

func labelsPicture(t *testing.T, l Labels) *Picture {
	t.Helper()
	p := expect.Value(DrawLabels(l))(t)
	return p
}

func TestLabelsPictures(t *testing.T) {
	want := compareGolden(t, "labels", labelsPicture(t, fewLabels()))
	l := fewLabels()
	l.Rows[3] = []int{40, 0, 0, 40}
	share := differing(decoded(t, encoded(t, labelsPicture(t, l))), want)
	expect.That(t, share >= 1e-4, "other rows of a client differ by %v", share)
	compareGolden(t, "shades", labelsPicture(t, manyLabels(150, 12)))
	compareGolden(t, "targets", labelsPicture(t, realLabels(20)))
}

// Discs have areas in proportion to rows; shades are ordered, and none stands for no rows.
func TestLabelsScales(t *testing.T) {
	d, err :=
		newLabels(&Labels{Clients: labelClients(2), Classes: []string{"a", "b"}, Rows: [][]int{{100, 0}, {25, 1}}})
	expect.Must(t, err == nil && d.most == 100 && d.mostRows == 100, "%v, %+v", err, d)
	for rows, want := range map[float64]int{0: 0, 0.01: 1, 25: shades / 2, 26: shades/2 + 1, 100: shades} {
		got := d.level(rows)
		expect.That(t, got == want, "%g rows have shade %d, want %d", rows, got, want)
	}
}

// Clients are ordered by largest class, then share, then number; a column beyond the limit
// is the mean of the clients in it.
func TestLabelsAreOrderedAndGrouped(t *testing.T) {
	l := manyLabels(3*mostColumns, 3)
	for k := range l.Rows {
		l.Rows[k] = []int{0, 0, 0}
		l.Rows[k][2-k/mostColumns] = 10
		l.Rows[k][k/mostColumns] += 2 * (k % 2)
	}
	d := expect.Value(newLabels(&l))(t)
	if len(d.columns) != mostColumns || d.columns[0].classes[0] != 10 || d.columns[mostColumns-1].classes[2] != 10 {
		t.Fatalf("%d columns from %+v to %+v", len(d.columns), d.columns[0], d.columns[len(d.columns)-1])
	}
	sum := 0.0
	for _, c := range d.columns {
		sum += 3 * c.rows
	}
	expect.That(t, sum >= 3*mostColumns*11-1e-6 && sum <= 3*mostColumns*11+1e-6,
		"%g rows, want %d", sum, 3*mostColumns*11)
	for i := 1; i < mostColumns; i++ {
		if d.columns[i-1].compare(&d.columns[i]) > 0 && (i*3)%mostColumns > 3 {
			t.Fatalf("columns %d and %d: %+v, %+v", i-1, i, d.columns[i-1], d.columns[i])
		}
	}
}

// Many clients and classes give a file of limited size, with the names that fit.
func TestLabelsSize(t *testing.T) {
	for _, l := range []Labels{manyLabels(5000, 62), realLabels(5000), manyLabels(1, 2), realLabels(1)} {
		var b bytes.Buffer
		expect.NoError(t, labelsPicture(t, l).WriteSVG(&b))
		expect.That(t, b.Len() <= 2_500_000, "%s, %d clients: %d bytes", l.Title, len(l.Clients), b.Len())
		text := b.String()
		expect.That(t, len(l.Classes) == 0 || strings.Contains(text, ">class 0<"), "the first class is not named")
	}
}

func TestLabelsErrors(t *testing.T) {
	for want, l := range map[string]Labels{
		"0 clients with 0 rows and 0 targets": {},
		"2 clients with 1 rows and 0 targets": {Clients: labelClients(2), Classes: []string{"a"},
			Rows: [][]int{{1}}},
		`client "2" has 1 classes: must have 2`: {Clients: labelClients(2), Classes: []string{"a", "b"},
			Rows: [][]int{{1, 2}, {1}}},
		"2 clients without rows": {Clients: labelClients(2), Classes: []string{"a", "b"},
			Rows: [][]int{{0, 0}, {0, 0}}},
		"1 clients without rows: must have at lea": {Clients: labelClients(1), Targets: [][]float64{nil}},
	} {
		_, err := DrawLabels(l)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v: must say %q", err, want)
	}
}
