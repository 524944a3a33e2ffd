package data

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"fedsim/internal/columns"
)

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

	TargetMean, TargetDeviation  float64 // of all rows; population standard deviation
	TargetMin, TargetMax         float64 // of all rows
	TargetMeanMin, TargetMeanMax float64 // of the means of tasks with rows

	PositiveShare            float64 // of all rows
	PositiveMin, PositiveMax float64 // over tasks with rows
	OneClassTasks            int     // tasks with rows of only one class

	ZeroFeatures     int // 0 in every row
	ConstantFeatures int // constant, but not 0, in all rows, such as a bias
}

// Describe computes the description of a set.
func Describe(set *Set) Description {
	d := Description{
		Name: set.Name, Generated: set.Generated, Real: set.Real,
		Tasks: len(set.Tasks), Features: set.Features, Rows: set.Rows(),
	}
	d.describeSizes(set)
	if set.Real {
		d.describeTargets(set)
	} else {
		d.describeLabels(set)
	}
	d.describeFeatures(set)
	return d
}

func (d *Description) describeSizes(set *Set) {
	d.RowsMean = float64(d.Rows) / float64(d.Tasks)
	squares := 0.0
	for t := range set.Tasks {
		n := set.Tasks[t].X.Rows
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
	for t := range set.Tasks {
		if y := set.Tasks[t].Y; len(y) > 0 {
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
	d.PositiveMin, d.PositiveMax = math.NaN(), math.NaN()
	positives := 0
	for t := range set.Tasks {
		y := set.Tasks[t].Y
		if len(y) == 0 {
			continue
		}
		n := 0
		for _, label := range y {
			if label > 0 {
				n++
			}
		}
		positives += n
		if n == 0 || n == len(y) {
			d.OneClassTasks++
		}
		share := float64(n) / float64(len(y))
		if math.IsNaN(d.PositiveMin) {
			d.PositiveMin, d.PositiveMax = share, share
		}
		d.PositiveMin, d.PositiveMax = min(d.PositiveMin, share), max(d.PositiveMax, share)
	}
	d.PositiveShare = float64(positives) / float64(d.Rows)
}

func (d *Description) describeFeatures(set *Set) {
	if d.Rows == 0 {
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

// WriteTo writes the description as an aligned table of two columns.
func (d Description) WriteTo(w io.Writer) (int64, error) {
	source := "from a file"
	if d.Generated {
		source = "generated"
	}
	type line struct{ what, figure string }
	lines := []line{
		{"data set", d.Name},
		{"source", source},
		{"tasks m", fmt.Sprint(d.Tasks)},
		{"features d", fmt.Sprint(d.Features)},
		{"rows", fmt.Sprint(d.Rows)},
		{"rows per task", fmt.Sprintf("%d to %d, mean %.1f, standard deviation %.2f", d.RowsMin, d.RowsMax, d.RowsMean, d.RowsDeviation)},
	}
	if d.Real {
		lines = append(lines,
			line{"real targets", fmt.Sprintf("%.4g to %.4g, standard deviation %.4g", d.TargetMin, d.TargetMax, d.TargetDeviation)},
			line{"mean target", fmt.Sprintf("%.4g, by task %.4g to %.4g", d.TargetMean, d.TargetMeanMin, d.TargetMeanMax)})
	} else {
		lines = append(lines,
			line{"positive labels", fmt.Sprintf("%.1f %%, by task %.1f to %.1f %%", 100*d.PositiveShare, 100*d.PositiveMin, 100*d.PositiveMax)},
			line{"tasks of one class", fmt.Sprint(d.OneClassTasks)})
	}
	lines = append(lines,
		line{"zero features", fmt.Sprint(d.ZeroFeatures)},
		line{"constant features", fmt.Sprint(d.ConstantFeatures)})
	var names, figures []string
	for _, line := range lines {
		names, figures = append(names, line.what), append(figures, line.figure)
	}
	n, err := io.WriteString(w, columns.Entries(names, figures, columns.Width))
	return int64(n), err
}

// String returns the table that WriteTo writes.
func (d Description) String() string {
	var text bytes.Buffer
	if _, err := d.WriteTo(&text); err != nil { // a buffer does not fail
		panic(err)
	}
	return text.String()
}
