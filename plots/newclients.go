package plots

import (
	"math"

	"fedsim/results"
)

// join sets the content of a figure of kind "new-clients". Lines join the values of a metric at the numbers of rows.
func (f *figureContent) join(a *Arrangement, runs []results.Run) {
	f.x = Quantity{Name: "new_rows", Label: "training rows of a new client"}
	f.y = newClientQuantities[f.fig.Y].on(runs)
	f.xScale, f.yScale, f.shows, f.steps = scales[f.fig.XScale], scales[f.fig.YScale], bandsOf[f.fig.Band], false
	f.bands = f.bandNote(a, runs)
	unknown := make([]bool, len(f.series))
	for i := range runs {
		at, c := a.Runs[i], curve{end: given}
		rows, values := runs[i].ByNewRows(f.fig.Y)
		for k := range rows {
			x, y := f.xScale.place(rows[k]), f.yScale.place(values[k])
			if math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0) {
				unknown[at.Line] = true
				continue
			}
			c.x, c.y = append(c.x, x), append(c.y, y)
		}
		if len(c.x) > 0 {
			p := &f.panels[at.Panel]
			p.curves[at.Line] = append(p.curves[at.Line], c)
		} else {
			unknown[at.Line] = true
		}
	}
	text := "not known for some numbers of rows"
	if f.xScale == logarithmic || f.yScale == logarithmic {
		text = "not known, or not on a logarithmic axis, for some numbers of rows"
	}
	f.note(text, unknown)
}

// newClientQuantities are what such a figure can show.
var newClientQuantities = map[string]Quantity{
	"new_error": {Label: "test error of new clients, " + overClients, real: "test RMSE of new clients, " + overClients},
	"new_worst": {Label: "test error of the worst tenth of new clients",
		real: "test RMSE of the worst tenth of new clients"},
	"new_spread": {Label: "standard deviation of the test error over new clients",
		real: "standard deviation of the test RMSE over new clients"},
	"new_flops":    {Label: "work of a new client (FLOP)"},
	"new_bytes":    {Label: "bytes that a new client is sent (B)"},
	"new_time_s":   {Label: "time until a new client has its model (s)", base: "s"},
	"new_energy_j": {Label: "energy of a new client for its model (J)", base: "J"},
}

const overClients = "mean over clients"
