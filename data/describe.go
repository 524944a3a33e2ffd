package data

import (
	"fmt"
	"io"
	"math"
	"slices"

	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
)

// RealTargets describes targets that are any numbers.
type RealTargets struct {
	TargetMean, TargetDeviation  float64 // of all rows; population standard deviation
	TargetMin, TargetMax         float64 // of all rows
	TargetMeanMin, TargetMeanMax float64 // of the means of tasks with rows
}

// Description has the statistics of a set, including those of the paper's Table 2.
// Shares and means of a set without rows are NaN.
type Description struct {
	Name      string
	Generated bool
	Tasks     int // m
	Features  int // d
	Rows      int // over all tasks

	RowsMin, RowsMax int     // per task
	RowsMean         float64 // over tasks
	RowsDeviation    float64 // sample standard deviation over tasks; 0 for a single task

	Real bool // real targets; the fields below apply to one kind of target

	RealTargets

	PositiveShare            float64 // of all rows
	PositiveMin, PositiveMax float64 // over tasks with rows

	Classes                []string // of several classes; nil for two with labels -1 and +1
	ClassRows              []int    // rows of each of several classes
	ClassesMin, ClassesMax int      // number of several classes over tasks with rows
	ClassesMean            float64
	LargestMin, LargestMax float64 // share of the largest of several classes, over tasks with rows
	LargestMean            float64

	OneClassTasks int // tasks with rows of only one class

	Signs   [2]string // names of the classes with the labels -1 and +1; empty if they have none
	Missing Missing

	ZeroFeatures     int // 0 in every row
	ConstantFeatures int // constant, but not 0, in all rows, such as a bias
}

// Describe computes the description of a set.
func Describe(set *Set) Description {
	d := Description{
		Name: set.Name, Generated: set.Generated, Real: set.Real,
		Tasks: len(set.Clients), Features: set.Features, Rows: set.Rows(), Signs: set.Signs, Missing: set.Missing,
	}
	d.describeSizes(set)
	switch {
	case set.Real:
		d.describeTargets(set)
	case set.Classes != nil:
		d.describeClasses(set)
	default:
		d.describeLabels(set)
	}
	d.describeFeatures(set)
	return d
}

func (d *Description) describeSizes(set *Set) {
	d.RowsMean = float64(d.Rows) / float64(d.Tasks)
	squares := 0.0
	for t := range set.Clients {
		n := set.Clients[t].X.Rows
		if t == 0 {
			d.RowsMin = n
		}
		d.RowsMin, d.RowsMax = min(d.RowsMin, n), max(d.RowsMax, n)
		squares += float64((float64(n) - d.RowsMean) * (float64(n) - d.RowsMean))
	}
	if d.Tasks > 1 {
		d.RowsDeviation = math.Sqrt(squares / float64(d.Tasks-1))
	}
}

func (d *Description) describeTargets(set *Set) {
	var all, means []float64
	for t := range set.Clients {
		if y := set.Clients[t].Y; len(y) > 0 {
			all = append(all, y...)
			means = append(means, mean(y))
		}
	}
	if len(all) == 0 {
		nan := math.NaN()
		d.TargetMean, d.TargetDeviation, d.TargetMin, d.TargetMax = nan, nan, nan, nan
		d.TargetMeanMin, d.TargetMeanMax = nan, nan
		return
	}
	d.TargetMean = mean(all)
	squares := 0.0
	for _, y := range all {
		squares += float64((y - d.TargetMean) * (y - d.TargetMean))
	}
	d.TargetDeviation = math.Sqrt(squares / float64(len(all)))
	d.TargetMin, d.TargetMax = slices.Min(all), slices.Max(all)
	d.TargetMeanMin, d.TargetMeanMax = slices.Min(means), slices.Max(means)
}

// mean returns the mean of numbers, summed in order.
func mean(x []float64) float64 {
	sum := 0.0
	for _, xi := range x {
		sum += xi
	}
	return sum / float64(len(x))
}

func (d *Description) describeLabels(set *Set) {
	positives, shares := 0, []float64{}
	for _, counts := range set.ClassCounts() {
		rows := counts[0] + counts[1]
		if rows == 0 {
			continue
		}
		if counts[0] == 0 || counts[1] == 0 {
			d.OneClassTasks++
		}
		positives += counts[1]
		shares = append(shares, float64(counts[1])/float64(rows))
	}
	d.PositiveShare = float64(positives) / float64(d.Rows)
	d.PositiveMin, d.PositiveMax = math.NaN(), math.NaN()
	if len(shares) > 0 {
		d.PositiveMin, d.PositiveMax = slices.Min(shares), slices.Max(shares)
	}
}

func (d *Description) describeClasses(set *Set) {
	d.Classes, d.ClassRows = set.Classes, make([]int, len(set.Classes))
	var numbers, largest []float64
	for _, counts := range set.ClassCounts() {
		rows, classes := 0, 0
		for c, n := range counts {
			rows += n
			classes += min(n, 1)
			d.ClassRows[c] += n
		}
		if rows == 0 {
			continue
		}
		if classes == 1 {
			d.OneClassTasks++
		}
		numbers = append(numbers, float64(classes))
		largest = append(largest, float64(slices.Max(counts))/float64(rows))
	}
	if len(numbers) == 0 {
		return
	}
	d.ClassesMin, d.ClassesMax, d.ClassesMean = int(slices.Min(numbers)), int(slices.Max(numbers)), mean(numbers)
	d.LargestMin, d.LargestMax, d.LargestMean = slices.Min(largest), slices.Max(largest), mean(largest)
}

// ClassCounts returns the rows of each class, by task. A set of labels -1 and +1 has two
// classes, in this order. It is nil for real targets.
func (s *Set) ClassCounts() [][]int {
	if s.Real {
		return nil
	}
	counts := make([][]int, len(s.Clients))
	for t := range s.Clients {
		counts[t] = make([]int, max(2, len(s.Classes)))
		for _, y := range s.Clients[t].Y {
			counts[t][max(0, int(y))]++
		}
	}
	return counts
}

func (d *Description) describeFeatures(set *Set) {
	if d.Rows == 0 {
		return
	}
	if set.sparse() {
		d.describeSparse(set)
		return
	}
	var first []float64
	varies := make([]bool, set.Features)
	set.eachRow(func(x []float64) {
		if first == nil {
			first = slices.Clone(x)
		}
		for j, v := range x {
			varies[j] = varies[j] || v != first[j]
		}
	})
	for j := range varies {
		switch {
		case varies[j]:
		case first[j] == 0:
			d.ZeroFeatures++
		default:
			d.ConstantFeatures++
		}
	}
}

// describeSparse is describeFeatures of sparse rows, in time in proportion to their values.
func (d *Description) describeSparse(set *Set) {
	rows, first, varies := make([]int32, set.Features), make([]float64, set.Features), make([]bool, set.Features)
	for t := range set.Clients {
		x := &set.Clients[t].X
		for k, j := range x.Indices {
			if rows[j]++; rows[j] == 1 {
				first[j] = x.Nonzeros[k]
			}
			varies[j] = varies[j] || x.Nonzeros[k] != first[j]
		}
	}
	for j, n := range rows {
		switch {
		case n == 0:
			d.ZeroFeatures++
		case int(n) == d.Rows && !varies[j]:
			d.ConstantFeatures++
		}
	}
}

// WriteTo writes the description as an aligned table of two columns.
func (d Description) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, d.String())
	return int64(n), err
}

// String returns the table that WriteTo writes.
func (d Description) String() string {
	var names, figures []string
	add := func(name, format string, values ...any) {
		names, figures = append(names, name), append(figures, fmt.Sprintf(format, values...))
	}
	add("data set", "%s", d.Name)
	source := "from a file"
	if d.Generated {
		source = "generated"
	}
	add("source", "%s", source)
	add("clients m", "%d", d.Tasks)
	add("features d", "%d", d.Features)
	add("rows", "%d", d.Rows)
	add("rows per client", "%d to %d, mean %.1f, standard deviation %.2f",
		d.RowsMin, d.RowsMax, d.RowsMean, d.RowsDeviation)
	switch {
	case d.Real:
		add("real targets", "%.4g to %.4g, standard deviation %.4g", d.TargetMin, d.TargetMax, d.TargetDeviation)
		add("mean target", "%.4g, by client %.4g to %.4g", d.TargetMean, d.TargetMeanMin, d.TargetMeanMax)
	case d.Classes != nil:
		add("classes C", "%d", len(d.Classes))
		add("rows per class", "%s", d.listClasses())
		add("classes per client", "%d to %d, mean %.1f", d.ClassesMin, d.ClassesMax, d.ClassesMean)
		add("largest class", "%.1f to %.1f %% of a client, mean %.1f %%",
			100*d.LargestMin, 100*d.LargestMax, 100*d.LargestMean)
		add("clients of one class", "%d", d.OneClassTasks)
	default:
		if d.Signs[1] != "" {
			add("labels", "-1 is %s, +1 is %s", quote.Line(quote.Cut(d.Signs[0])), quote.Line(quote.Cut(d.Signs[1])))
		}
		add("positive labels", "%.1f %%, by client %.1f to %.1f %%",
			100*d.PositiveShare, 100*d.PositiveMin, 100*d.PositiveMax)
		add("clients of one class", "%d", d.OneClassTasks)
	}
	if d.Missing.Rows > 0 {
		what := "filled in with means"
		if d.Missing.Dropped {
			what = "left out"
		}
		add("missing values", "%d in %d rows of the file, %s", d.Missing.Values, d.Missing.Rows, what)
		add("missing by column", "%s", ListMissing(d.Missing.Columns))
	}
	add("zero features", "%d", d.ZeroFeatures)
	add("constant features", "%d", d.ConstantFeatures)
	return columns.Entries(names, figures, columns.Width)
}

// listClasses lists the rows of the first classes.
func (d *Description) listClasses() string {
	list := make([]string, len(d.Classes))
	for c, name := range d.Classes {
		list[c] = fmt.Sprintf("%s:%d", quote.Line(quote.Cut(name)), d.ClassRows[c])
	}
	return quote.List(list, 100)
}
