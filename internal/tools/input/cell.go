package input

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"fedsim/internal/tools/quote"
)

// Number parses a decimal number of a file: a sign, digits, a point and an exponent. It refuses what Go
// takes besides: digit separators, hexadecimal numbers, and words for infinity and for no number. The error is
// strconv.ErrSyntax or strconv.ErrRange.
func Number(text string) (float64, error) {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(text, 64)
}

// Missing reports whether a cell of a table stands for a missing value: it is empty, a question mark, or what pandas
// takes for one (na_values of read_csv).
func Missing(cell string) bool {
	switch len(cell) {
	case 0:
		return true
	case 1:
		return cell == "?"
	case 2:
		return strings.EqualFold(cell, "na")
	case 3:
		return strings.EqualFold(cell, "nan") || strings.EqualFold(cell, "n/a") || cell == "#NA"
	case 4:
		return strings.EqualFold(cell, "null") || strings.EqualFold(cell, "-nan") || strings.EqualFold(cell, "<na>") ||
			cell == "None" || cell == "#N/A"
	}
	switch cell {
	case "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN":
		return true
	}
	return false
}

// pandasIndex matches the names that pandas gives to an index without a name, in a csv file that it reads and in
// parquet.
var pandasIndex = regexp.MustCompile(`^(Unnamed: [0-9][0-9.]*|__index_level_[0-9]+__)$`)

// PandasIndex reports whether a column has the name of an index of pandas.
func PandasIndex(column string) bool { return pandasIndex.MatchString(column) }

// NameIndex gives the columns without a name before the first one that has a name those of an index of pandas, which
// writes an index to csv like that.
func NameIndex(header []string) {
	for i := 0; i+1 < len(header) && header[i] == ""; i++ {
		header[i] = fmt.Sprintf("Unnamed: %d", i)
	}
}

// MaxName is the largest number of characters in a name.
const MaxName = 200

// RefuseName returns why the name of a client, a class, a label or a column is invalid, or "".
func RefuseName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return quote.Text(name) + " must be text without control characters"
	case len(name) > MaxName && utf8.RuneCountInString(name) > MaxName:
		return fmt.Sprintf("%s has %d characters, must have at most %d", quote.Text(name), utf8.RuneCountInString(name),
			MaxName)
	}
	return ""
}
