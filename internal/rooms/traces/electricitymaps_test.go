package traces

import (
	"strings"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// mapsHeader is that of a file of Electricity Maps of 2024, and mapsOld that of 2022, as programs that
// read them quote them. The first row of each is the one that they quote for Sweden; the others are
// made up.
const (
	mapsHeader = "Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),Carbon intensity " +
		"gCO₂eq/kWh (Life cycle),Carbon-free energy percentage (CFE%),Renewable energy percentage (RE%),Data source," +
		"Data estimated,Data estimation method\n"
	mapsOld = "Datetime (UTC),Country,Zone Name,Zone Id,Carbon Intensity gCO₂eq/kWh (direct),Carbon Intensity " +
		"gCO₂eq/kWh (LCA),Low Carbon Percentage,Renewable Percentage,Data Source,Data Estimated,Data Estimation " +
		"Method\n"
	mapsRow = "2021-01-01 00:00:00,Sweden,Sweden,SE,2.54,30.02,99.42,60.13,svk.se,true," +
		"ESTIMATED_FORECASTS_HIERARCHY\n"
)

func TestElectricityMaps(t *testing.T) {
	row := func(when, zone, value string) string {
		return when + ",C,\"N, of C\"," + zone + ",1," + value + ",2,3,s,true,\n"
	}
	file := mapsRow + row("2021-01-01 01:00:00", "SE", "40") + row("2021-01-01 02:00:00", "SE", "50") +
		row("2021-01-01 00:00:00", "PL", "700") + row("2021-01-01 00:05:00", "PL", "800")
	for _, header := range []string{mapsHeader, mapsOld} {
		set := expect.Value(Collect(read(strings.NewReader(header+file), "x.csv")))(t)
		view := NewView(set, InOrder, 0, true)
		for _, c := range []struct {
			place   int
			s, want float64
		}{{0, 0, 30.02}, {0, 3600, 40}, {0, 7199, 40}, {0, 7200, 50}, {0, 10799, 50}, {0, 3 * 3600, 30.02},
			{1, 299, 700}, {1, 300, 800}, {1, 600, 700}} {
			got, _ := view.Lookup(GridGPerKWh, c.place, engine.FromSeconds(c.s))
			expect.That(t, got == c.want, "%s at %v s: %v, want %v", set.Name(c.place), c.s, got, c.want)
		}
	}
	for text, want := range map[string]string{
		mapsHeader: "no traces: must have at least one device",
		mapsHeader + mapsRow: `x.csv:2:1: zone "SE" has one row: must have at least two, since a row lasts until the ` +
			`next`,
		"Datetime (UTC),a\n": "x.csv:1:1: the header must have the columns Datetime (UTC), " +
			"Zone id and Carbon intensity gCO₂eq/kWh (Life cycle)",
		mapsHeader + mapsRow +
			row("2021-01-01 00:00:00", "SE", "1"): `x.csv:3:1: 2021-01-01 00:00:00 of zone "SE" comes after another ` +
			`row of that or a later time: times must increase`,
		mapsHeader + mapsRow +
			row("2021-01-01 01:00:00", "SE", ""): `x.csv:3:1: carbon intensity "": must be a number`,
		mapsHeader + mapsRow +
			row("1 January", "SE", "1"): `x.csv:3:1: Datetime (UTC) = "1 January": must be a time as 2021-01-01 ` +
			`00:00:00`,
		mapsHeader + mapsRow + row("2021-01-01 01:00:00", "SE", "1") +
			row("2021-01-01 02:00:00", "FR", "1"): `x.csv:4:1: zone "FR" begins at 2021-01-01 02:00:00: ` +
			`must begin with the first row of the file, at 2021-01-01 00:00:00`,
		mapsHeader + mapsRow +
			row("2020-12-31 23:00:00", "SE", "1"): `x.csv:3:1: 2020-12-31 23:00:00 of zone "SE" comes after another ` +
			`row of that or a later time: times must increase`,
		mapsHeader + mapsRow + row("2021-01-01 01:00:00", "SE", "1") +
			row("2021-01-01 03:00:00", "SE", "1"): `x.csv:4:1: 2021-01-01 03:00:00 of zone "SE" comes 2h0m0s after ` +
			`the row before it, which comes 1h0m0s after its own: a row is missing, and an intensity lasts until the ` +
			`next`,
		mapsHeader + mapsRow + row("2021-01-01 02:00:00", "SE", "1") +
			row("2021-01-01 03:00:00", "SE", "1"): `x.csv:4:1: 2021-01-01 03:00:00 of zone "SE" comes 1h0m0s after ` +
			`the row before it, which comes 2h0m0s after its own: a row is missing, and an intensity lasts until the ` +
			`next`,
		mapsHeader + mapsRow +
			row("2021-01-01 01:00:00", "SE", "1_0"): `x.csv:3:1: carbon intensity "1_0": must be a number`,
		mapsHeader + mapsRow +
			row("2021-01-01 01:00:00", "SE", "-1"): `x.csv:3:1: device "SE": grid_g_per_kwh = -1 at 1h0m0s: ` +
			`must be in [0, 1e12]`,
	} {
		_, err := Collect(read(strings.NewReader(text), "x.csv"))
		expect.That(t, err != nil && err.Error() == want, "%q: %v\nwant %s", text, err, want)
	}
}

// Months are evenly spaced but for their lengths.
func TestElectricityMapsMonths(t *testing.T) {
	var file strings.Builder
	file.WriteString(mapsHeader)
	for _, month := range []string{"01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"} {
		file.WriteString("2021-" + month + "-01 00:00:00,C,N,SE,1,30,2,3,s,true,\n")
	}
	set := expect.Value(Collect(ElectricityMaps(strings.NewReader(file.String()), "x.csv")))(t)
	if want := (334 + 30) * 24 * hour; set.spans[0] != want { // December as long as November
		t.Errorf("%v, want %v", set.spans[0], want)
	}
}
