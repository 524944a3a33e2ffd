package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// Limits of a HAR archive. The real one has 561 features and about ten thousand rows.
const (
	maxHARFeatures = 1 << 16
	maxHARText     = 1 << 26 // bytes of features.txt, y_*.txt and so on
	maxHARField    = 32      // average bytes of a value and the blanks before it
)

// harHalves are the two parts that UCI publishes, in the order in which they are merged.
var harHalves = [2]string{"train", "test"}

// readHAR reads "Human Activity Recognition Using Smartphones" (Anguita et al., ESANN
// 2013) as published by UCI. path is the downloaded zip, the unpacked folder or its
// parent. UCI's train and test parts are merged. There is one task per subject, in the
// order of the subjects' numbers. Its rows are in file order, train before test. The classes
// are the activities in the order of activity_labels.txt. Features with the same name
// get the suffixes "#2", "#3". An error in a file is a *ParseError with the file in the
// archive, the line and the column.
func readHAR(_ data.Config, path string) (*data.Set, error) {
	folder, closer, err := openHAR(path)
	if err != nil {
		return nil, err
	}
	set, err := readHARFolder(folder)
	if input.CloseAfter(closer, &err); err != nil {
		return nil, err
	}
	return set, nil
}

// readHARFolder reads names, labels and subjects first. They say how many rows there are, so
// both large files are read concurrently.
func readHARFolder(folder *data.Folder) (*data.Set, error) {
	features, err := readHARNames(folder, "features.txt")
	if err != nil {
		return nil, err
	}
	activities, err := readHARNames(folder, "activity_labels.txt")
	if err != nil {
		return nil, err
	}
	set := &data.Set{Name: "uci-har", Classes: activities.names, Features: len(features.names),
		FeatureNames: input.UniqueNames(features.names)}
	if set.Features > maxHARFeatures {
		return nil, inFile(folder.Path("features.txt"), "names %d features, at most %d are allowed", set.Features,
			maxHARFeatures)
	}
	var all data.Client
	var subjects []string
	var halves [2]harHalf
	for h, half := range harHalves {
		if halves[h], err = readHARHalf(folder, half, activities, set.Features); err != nil {
			return nil, err
		}
		all.Y, subjects = append(all.Y, halves[h].y...), append(subjects, halves[h].subjects...)
	}
	all.X = data.NewMatrix(len(all.Y), set.Features)
	var failed [2]error
	var readers sync.WaitGroup
	from := 0
	for h := range halves {
		part := all.X.Part(from, from+len(halves[h].y))
		from += part.Rows
		readers.Go(func() { failed[h] = halves[h].readFeatures(folder, &part) })
	}
	readers.Wait()
	if err := cmp.Or(failed[:]...); err != nil { // that of the train file first, whichever was found first
		return nil, err
	}
	set.ByClient(all, subjects)
	return set, nil
}

// harNames is a file with lines "number name".
type harNames struct {
	file    string
	numbers []int
	names   []string
}

// readHARNames reads a file of numbered names.
func readHARNames(folder *data.Folder, file string) (*harNames, error) {
	n := &harNames{file: folder.Path(file)}
	err := eachHARLine(folder, file, func(line int, text string) error {
		number, name, found := strings.Cut(text, " ")
		value, err := strconv.Atoi(number)
		name = strings.TrimSpace(name)
		if err != nil || !found || name == "" {
			return atLine(n.file, line, "%s must be a number, a blank and a name", quote.Text(text))
		}
		n.numbers = append(n.numbers, value)
		n.names = append(n.names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(n.names) == 0 {
		return nil, inFile(n.file, "the file is empty: must have lines with a number and a name")
	}
	return n, nil
}

// harHalf is UCI's train or test part: the class and the subject of each row.
type harHalf struct {
	name     string
	y        []float64
	subjects []string
}

// readHARHalf reads the labels and subjects of one part. It checks that they match and
// that the file of features is large enough.
func readHARHalf(folder *data.Folder, half string, activities *harNames, features int) (harHalf, error) {
	h := harHalf{name: half}
	subjectFile := half + "/subject_" + half + ".txt"
	err := eachHARNumber(folder, half+"/y_"+half+".txt", func(v int) string {
		class := slices.Index(activities.numbers, v)
		if class < 0 {
			return fmt.Sprintf("activity %d is not in activity_labels.txt", v)
		}
		h.y = append(h.y, float64(class))
		return ""
	})
	if err != nil {
		return h, err
	}
	err = eachHARNumber(folder, subjectFile, func(v int) string {
		if v < 0 {
			return fmt.Sprintf("subject %d must not be negative", v)
		}
		h.subjects = append(h.subjects, strconv.Itoa(v))
		return ""
	})
	if err != nil {
		return h, err
	}
	if len(h.y) != len(h.subjects) {
		return h, inFile(folder.Path(subjectFile), "has %d rows, y_%s.txt has %d", len(h.subjects), half, len(h.y))
	}
	featureFile := h.featureFile()
	bound, err := folder.SizeBound(featureFile)
	if err != nil {
		return h, err
	}
	// A value takes at least a digit and a separator. This limits the memory that a
	// small archive with large claims can request.
	values := int64(len(h.y)) * int64(features)
	if need := 2*values - 1; bound < need {
		return h, inFile(folder.Path(featureFile), "is too short to have %d rows of %d values", len(h.y), features)
	}
	if bound > maxHARField*values+maxHARText {
		return h, inFile(folder.Path(featureFile), "has %d bytes, too many for %d rows of %d values", bound, len(h.y),
			features)
	}
	return h, nil
}

func (h *harHalf) featureFile() string { return h.name + "/X_" + h.name + ".txt" }

// eachHARNumber reads a file with one whole number per line. take returns why a number is invalid,
// or "".
func eachHARNumber(folder *data.Folder, file string, take func(v int) string) error {
	return eachHARLine(folder, file, func(line int, text string) error {
		v, err := strconv.Atoi(text)
		problem := quote.Text(text) + " is not a whole number"
		if err == nil {
			problem = take(v)
		}
		if problem != "" {
			return &data.ParseError{File: folder.Path(file), Line: line, Column: 1, Problem: problem}
		}
		return nil
	})
}

// eachHARLine calls visit for each line that is not blank, trimmed.
func eachHARLine(folder *data.Folder, file string, visit func(line int, text string) error) error {
	if _, err := folder.SizeBound(file); err != nil {
		return err
	}
	content, err := folder.ReadWhole(file, maxHARText)
	if err != nil {
		return err
	}
	if content, err = input.Plain(content); err != nil {
		return &data.ParseError{File: folder.Path(file), Problem: err.Error()}
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

// readFeatures reads the half's file of features.
func (h *harHalf) readFeatures(folder *data.Folder, into *data.Matrix) (err error) {
	name := folder.Path(h.featureFile())
	file, err := folder.Open(h.featureFile())
	if err != nil {
		return err
	}
	defer input.CloseAfter(file, &err)
	text, err := input.NewNamedText(file, name)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(text, max(1<<16, maxHARField*into.Cols))
	row := 0
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return atLine(name, number, "the line is too long for %d values", into.Cols)
		}
		if err != nil && err != io.EOF {
			return &data.ParseError{File: name, Line: number, Problem: "cannot be read: the download may be corrupt",
				Err: err}
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if row == into.Rows {
				return atLine(name, number, "has more rows than the %d of y_%s.txt", row, h.name)
			}
			if column, problem := parseHARRow(line, into.Row(row)); problem != "" {
				return &data.ParseError{File: name, Line: number, Column: column, Problem: problem}
			}
			row++
		}
		if err == io.EOF {
			break
		}
	}
	if row < into.Rows {
		return inFile(name, "has %d rows, y_%s.txt has %d", row, h.name, into.Rows)
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
		if x[j], problem = input.Value(string(line[start:i])); problem != "" {
			return start + 1, problem
		}
		j++
	}
	if j < len(x) {
		return 0, fmt.Sprintf("has %d values, features.txt names %d", j, len(x))
	}
	return 0, ""
}
