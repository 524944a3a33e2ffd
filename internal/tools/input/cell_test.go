package input

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "-1.5e3": -1500, "+.5": .5, "5.": 5, "1E-2": .01, "007": 7} {
		x, err := Number(text)
		expect.That(t, err == nil && x == want, "%s: %v, %v", text, x, err)
	}
	for _, text := range []string{"", "1_1", "2019_01", "0x1p-2", "0X10", "inf", "-Inf", "+infinity", "nan", "NaN",
		"1e999", "1,5", " 1", "1 ", "1f", "0b1", "e", ".", "--1", "\u0661"} {
		x, err := Number(text)
		expect.That(t, err != nil, "%q is %v, must be no number", text, x)
	}
	n := testing.AllocsPerRun(100, func() { _, _ = Number("-12.5e-1") })
	expect.That(t, n <= 0, "%v allocations", n)
}

// The list is na_values of pandas.read_csv (pandas 2.3), and what fedsim takes besides.
func TestMissing(t *testing.T) {
	for _, cell := range []string{"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
		"1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?", "na", "NAN"} {
		expect.That(t, Missing(cell), "%q must be missing", cell)
	}
	for _, cell := range []string{"none", "NONE", "0", "-", "nil", "no", "NAME", "nano", " ", "#", "N/A N/A",
		"1.#INF"} {
		expect.That(t, !Missing(cell), "%q must not be missing", cell)
	}
}

func TestRefuseName(t *testing.T) {
	for name, want := range map[string]string{
		"": "is empty", "a": "", "Ärzte Süd, Haus 2": "", strings.Repeat("ä", MaxName): "",
		"a\nb": `"a\nb" must be text without control characters`,
		"\xff": `"\xff" must be text without control characters`,
		strings.Repeat("ä", MaxName+1): `"` + strings.Repeat("ä", 80) +
			`..." has 201 characters, must have at most 200`,
	} {
		got := RefuseName(name)
		expect.That(t, got == want, "%.10q: %s, want %s", name, got, want)
	}
}
