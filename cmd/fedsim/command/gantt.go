package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/experiment/scenario"
	"fedsim/internal/atomicfile"
	"fedsim/internal/record/timeline"
	"fedsim/plots"
)

// pictureFiles returns the files for a flag: one file, or one for each format if the name has no
// extension.
func pictureFiles(flag, name string) (paths []string, err error) {
	switch extension := filepath.Ext(name); {
	case slices.Contains(plots.Extensions, strings.ToLower(extension)):
		return []string{name}, nil
	case extension != "":
		return nil, usagef("--%s=%s: must end in .png or .svg, or have no extension for both", flag, name)
	}
	for _, extension := range plots.Extensions {
		paths = append(paths, name+extension)
	}
	return paths, nil
}

// savePicture writes a figure to the files for a flag and returns their names.
func savePicture(picture *plots.Picture, flag, name string) (saved []string, err error) {
	paths, err := pictureFiles(flag, name)
	for _, path := range paths {
		if err := atomicfile.Write(path, picture.Writer(strings.ToLower(filepath.Ext(path)))); err != nil {
			return saved, err
		}
		saved = append(saved, path)
	}
	return saved, err
}

// saveGantt draws a timeline to the files for --gantt and returns their names.
func saveGantt(line *timeline.Timeline, run *scenario.RunSpec, name string) (saved []string, err error) {
	picture, err := plots.DrawGantt(ganttOf(line, run))
	if err != nil {
		return nil, err
	}
	return savePicture(picture, "gantt", name)
}

// activities maps the slices of a timeline to bars.
var activities = map[timeline.Kind]plots.Activity{
	timeline.Download: plots.Downlink, timeline.Compute: plots.Compute, timeline.Upload: plots.Uplink,
	timeline.Poll: plots.Poll, timeline.Wait: plots.Wait, timeline.Unavailable: plots.Unavailable, timeline.Depleted: plots.Depleted,
}

// titleOf describes a run: its method, sweep point and seed.
func titleOf(run *scenario.RunSpec) string {
	text := run.Label
	if len(run.Point) > 0 {
		text += ", " + plots.PointText(run.Point)
	}
	return fmt.Sprintf("%s, seed %d", text, run.Seed)
}

// ganttOf returns the figure of a timeline.
func ganttOf(line *timeline.Timeline, run *scenario.RunSpec) plots.Gantt {
	g := plots.Gantt{Title: titleOf(run), Relative: run.Settings.Federation.Relative(), From: line.From.Seconds(), To: line.To.Seconds()}
	for why := clients.DroppedOut; why <= clients.NoTime; why++ {
		g.Marks = append(g.Marks, why.String())
	}
	for _, device := range line.Tracks {
		g.Rows = append(g.Rows, plots.GanttRow{Name: strconv.Itoa(int(device))})
	}
	for _, it := range line.Items {
		span := plots.GanttSpan{From: it.From.Seconds(), To: it.To.Seconds()}
		if it.Device == engine.Server {
			if it.Kind == timeline.Update {
				g.Updates = append(g.Updates, span)
			} else {
				g.Rounds = append(g.Rounds, plots.GanttRound{Number: int(it.Round), GanttSpan: span})
			}
			continue
		}
		k, _ := slices.BinarySearch(line.Tracks, it.Device)
		row := &g.Rows[k]
		if it.Kind == timeline.Failure {
			row.Marks = append(row.Marks, plots.GanttMark{Kind: int(it.Why - clients.DroppedOut), At: span.From})
		} else if a, ok := activities[it.Kind]; ok {
			row.Bars = append(row.Bars, plots.GanttBar{Activity: a, GanttSpan: span})
		}
	}
	return g
}
