package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fedsim/internal/quote"
)

// Limits of a HAR archive. The real one has 561 features and about ten thousand rows.
const (
	maxHARFeatures = 1 << 16
	maxHARText     = 1 << 26 // bytes of features.txt, y_*.txt and so on
	maxHARField    = 32      // average bytes of a value and the blanks before it
)

// harHalves are the two parts that UCI publishes, in the order in which they are merged.
var harHalves = [2]string{"train", "test"}

// ReadHAR reads "Human Activity Recognition Using Smartphones" (Anguita et al., ESANN
// 2013) as published by UCI. path is the downloaded zip, the unpacked folder or its
// parent. UCI's train and test parts are merged. There is one task per subject, in the
// order of the subjects' numbers. Its rows are in file order, train before test. The classes
// are the activities in the order of activity_labels.txt. Features with the same name
// get the suffixes "#2", "#3". An error in a file is a *ParseError with the file in the
// archive, the line and the column.
func ReadHAR(path string) (*Set, error) {
	folder, closer, err := openHAR(path)
	if err != nil {
		return nil, err
	}
	set, err := readHARFolder(folder)
	if closeAfter(closer, &err); err != nil {
		return nil, err
	}
	return set, nil
}

// readHARFolder reads names, labels and subjects first. They determine the place of each
// row, so both large files are read concurrently into the tasks.
func readHARFolder(folder *dataFolder) (*Set, error) {
	features, err := readHARNames(folder, "features.txt")
	if err != nil {
		return nil, err
	}
	activities, err := readHARNames(folder, "activity_labels.txt")
	if err != nil {
		return nil, err
	}
	if len(features.names) > maxHARFeatures {
		return nil, &ParseError{File: folder.path("features.txt"), Problem: fmt.Sprintf("names %d features, at most %d are allowed", len(features.names), maxHARFeatures)}
	}
	var halves [2]harHalf
	for h, half := range harHalves {
		if halves[h], err = readHARHalf(folder, half, activities, len(features.names)); err != nil {
			return nil, err
		}
	}
	set := &Set{
		Name:         "uci-har",
		Classes:      activities.names,
		Features:     len(features.names),
		FeatureNames: uniqueNames(features.names),
	}
	set.Tasks = allotHAR(halves[:], activities, set.Features)
	var failed [2]error
	var readers sync.WaitGroup
	for h := range halves {
		readers.Go(func() { failed[h] = halves[h].readFeatures(folder, set) })
	}
	readers.Wait()
	for _, err := range failed { // the error of the train file first, whichever was found first
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// harNames is a file with lines "number name".
type harNames struct {
	file    string
	numbers []int
	names   []string
}

// readHARNames reads a file of numbered names.
func readHARNames(folder *dataFolder, file string) (*harNames, error) {
	n := &harNames{file: folder.path(file)}
	err := eachHARLine(folder, file, func(line int, text string) error {
		number, name, found := strings.Cut(text, " ")
		value, err := strconv.Atoi(number)
		name = strings.TrimSpace(name)
		if err != nil || !found || name == "" {
			return &ParseError{File: n.file, Line: line, Problem: fmt.Sprintf("%s must be a number, a blank and a name", quote.Text(text))}
		}
		n.numbers = append(n.numbers, value)
		n.names = append(n.names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(n.names) == 0 {
		return nil, &ParseError{File: n.file, Problem: "the file is empty: must have lines with a number and a name"}
	}
	return n, nil
}

// harHalf is UCI's train or test part: the activity, the subject and the place of each
// row.
type harHalf struct {
	name      string
	activity  []int
	subject   []int
	task, row []int32
}

// readHARHalf reads the labels and subjects of one part. It checks that they match and
// that the file of features is large enough.
func readHARHalf(folder *dataFolder, half string, activities *harNames, features int) (harHalf, error) {
	h := harHalf{name: half}
	labelFile, subjectFile := half+"/y_"+half+".txt", half+"/subject_"+half+".txt"
	var err error
	if h.activity, err = readHARNumbers(folder, labelFile, func(v int) string {
		if !slices.Contains(activities.numbers, v) {
			return fmt.Sprintf("activity %d is not in activity_labels.txt", v)
		}
		return ""
	}); err != nil {
		return h, err
	}
	if h.subject, err = readHARNumbers(folder, subjectFile, func(v int) string {
		if v < 0 {
			return fmt.Sprintf("subject %d must not be negative", v)
		}
		return ""
	}); err != nil {
		return h, err
	}
	if len(h.activity) != len(h.subject) {
		return h, &ParseError{File: folder.path(subjectFile), Problem: fmt.Sprintf("has %d rows, y_%s.txt has %d", len(h.subject), half, len(h.activity))}
	}
	featureFile := h.featureFile()
	bound, err := folder.sizeBound(featureFile)
	if err != nil {
		return h, err
	}
	// A value takes at least a digit and a separator. This limits the memory that a
	// small archive with large claims can request.
	values := int64(len(h.activity)) * int64(features)
	if need := 2*values - 1; bound < need {
		return h, &ParseError{File: folder.path(featureFile), Problem: fmt.Sprintf("is too short to have %d rows of %d values", len(h.activity), features)}
	}
	if bound > maxHARField*values+maxHARText {
		return h, &ParseError{File: folder.path(featureFile), Problem: fmt.Sprintf("has %d bytes, too many for %d rows of %d values", bound, len(h.activity), features)}
	}
	return h, nil
}

func (h *harHalf) featureFile() string { return h.name + "/X_" + h.name + ".txt" }

// readHARNumbers reads a file with one whole number per line. refuse returns why a
// number is invalid, or "".
func readHARNumbers(folder *dataFolder, file string, refuse func(v int) string) ([]int, error) {
	var values []int
	err := eachHARLine(folder, file, func(line int, text string) error {
		v, err := strconv.Atoi(text)
		if err != nil {
			return &ParseError{File: folder.path(file), Line: line, Column: 1, Problem: fmt.Sprintf("%s is not a whole number", quote.Text(text))}
		}
		if problem := refuse(v); problem != "" {
			return &ParseError{File: folder.path(file), Line: line, Column: 1, Problem: problem}
		}
		values = append(values, v)
		return nil
	})
	return values, err
}

// eachHARLine calls visit for each line that is not blank, trimmed.
func eachHARLine(folder *dataFolder, file string, visit func(line int, text string) error) error {
	if _, err := folder.sizeBound(file); err != nil {
		return err
	}
	content, err := readWhole(folder.files, file, folder.path(file), maxHARText)
	if err != nil {
		return err
	}
	line := 0
	for text := range strings.Lines(string(content)) {
		line++
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := visit(line, text); err != nil {
			return err
		}
	}
	return nil
}

// allotHAR makes one task per subject and sets the places of the rows of each half.
func allotHAR(halves []harHalf, activities *harNames, features int) []Task {
	var subjects []int
	for h := range halves {
		subjects = append(subjects, halves[h].subject...)
	}
	slices.Sort(subjects)
	subjects = slices.Compact(subjects)
	counts := make([]int, len(subjects))
	for h := range halves {
		half := &halves[h]
		half.task = make([]int32, len(half.subject))
		half.row = make([]int32, len(half.subject))
		for i, subject := range half.subject {
			t, _ := slices.BinarySearch(subjects, subject)
			half.task[i], half.row[i] = int32(t), int32(counts[t])
			counts[t]++
		}
	}
	tasks := make([]Task, len(subjects))
	for t := range tasks {
		tasks[t] = Task{Name: strconv.Itoa(subjects[t]), X: NewMatrix(counts[t], features), Y: make([]float64, counts[t])}
	}
	for h := range halves {
		for i, activity := range halves[h].activity {
			class := slices.Index(activities.numbers, activity)
			tasks[halves[h].task[i]].Y[halves[h].row[i]] = float64(class)
		}
	}
	return tasks
}

// readFeatures reads the half's file of features into the tasks.
func (h *harHalf) readFeatures(folder *dataFolder, set *Set) (err error) {
	name := folder.path(h.featureFile())
	file, err := folder.open(h.featureFile())
	if err != nil {
		return err
	}
	defer closeAfter(file, &err)
	lines := bufio.NewReaderSize(file, max(1<<16, maxHARField*set.Features))
	row := 0
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return &ParseError{File: name, Line: number, Problem: fmt.Sprintf("the line is too long for %d values", set.Features)}
		}
		if err != nil && err != io.EOF {
			return &ParseError{File: name, Line: number, Problem: "cannot be read: the download may be corrupt", Err: err}
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if row == len(h.task) {
				return &ParseError{File: name, Line: number, Problem: fmt.Sprintf("has more rows than the %d of y_%s.txt", row, h.name)}
			}
			x := set.Tasks[h.task[row]].X.Row(int(h.row[row]))
			if column, problem := parseHARRow(line, x); problem != "" {
				return &ParseError{File: name, Line: number, Column: column, Problem: problem}
			}
			row++
		}
		if err == io.EOF {
			break
		}
	}
	if row < len(h.task) {
		return &ParseError{File: name, Problem: fmt.Sprintf("has %d rows, y_%s.txt has %d", row, h.name, len(h.task))}
	}
	return nil
}

// parseHARRow parses exactly len(x) numbers between blanks. On failure it returns the
// problem and its column from 1, or 0 for the whole line.
func parseHARRow(line []byte, x []float64) (column int, problem string) {
	j, i := 0, 0
	for {
		for i < len(line) && line[i] <= ' ' {
			i++
		}
		if i == len(line) {
			break
		}
		start := i
		for i < len(line) && line[i] > ' ' {
			i++
		}
		if j == len(x) {
			return start + 1, fmt.Sprintf("has more than the %d values that features.txt names", len(x))
		}
		if x[j], problem = parseValue(string(line[start:i])); problem != "" {
			return start + 1, problem
		}
		j++
	}
	if j < len(x) {
		return 0, fmt.Sprintf("has %d values, features.txt names %d", j, len(x))
	}
	return 0, ""
}
