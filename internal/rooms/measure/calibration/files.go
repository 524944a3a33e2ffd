package calibration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/devices/fleets"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/plainjson"
	"fedsim/plots"
)

// The files of a calibration.
const (
	CalibrationFile = "calibration.json"
	FleetFile       = "fleet.toml"
	NominalFile     = "nominal.toml"
	ScenarioFile    = "scenario.toml"
	ReportFile      = "report.txt"
	PageFile        = "report.html"
	FiguresDir      = "figures"
)

// Results are what Write writes besides a calibration.
type Results struct {
	Text    string // the report
	Page    []byte // the report as HTML
	Figures []Figure
}

// ErrExists reports a directory that exists already.
var ErrExists = errors.New("already exists")

// Write writes the files of a calibration of a log to a new directory: the calibration, the fleet
// of all clients, that of their nominal values if the log has them, a scenario of the run with most
// attempts, the report and the figures as PNG and SVG. The directory is whole or absent. With force
// it replaces a directory that holds a calibration; an error of another one wraps ErrExists.
func (c *Calibration) Write(dir string, log *attemptlog.Log, r Results, force bool) (err error) {
	dir = filepath.Clean(dir)
	if err := CheckFree(dir, force); err != nil {
		return err
	}
	files, err := c.files(filepath.Base(dir), log, &r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	made := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".unfinished")
	if err := os.RemoveAll(made); err != nil { // of a killed process
		return err
	}
	if err := os.MkdirAll(filepath.Join(made, FiguresDir), 0o777); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	for _, f := range files {
		if err := atomicfile.WriteIn(made, f.name,
			func(w io.Writer) error { _, err := io.WriteString(w, f.text); return err }); err != nil {
			return err
		}
	}
	for _, f := range r.Figures {
		if _, err := f.Save(filepath.Join(made, FiguresDir), f.Name); err != nil {
			return err
		}
	}
	if err := checkScenario(filepath.Join(made, ScenarioFile), Base(log)); err != nil {
		return err
	}
	if force {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.Rename(made, dir); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(dir))
}

// checkScenario reports all errors of a scenario, which can only be in the settings of its run.
func checkScenario(path string, run *attemptlog.Run) error {
	_, err := scenario.Load(path, nil)
	problems, ok := errors.AsType[config.Errors](err)
	if !ok {
		return err
	}
	var out config.Errors
	for _, p := range problems {
		out.Add(config.Place{File: run.File}, "settings of run "+run.Name+": "+p.Text)
	}
	return out
}

// maxCalibration is the largest number of bytes of a calibration.
const maxCalibration = 1 << 30

// Read reads the calibration in a directory that Write made.
func Read(dir string) (*Calibration, error) {
	path := filepath.Join(dir, CalibrationFile)
	text, err := input.ReadText(path, maxCalibration)
	if err != nil {
		return nil, err
	}
	wrong := func(text string) error { return config.Errors{{Place: config.Place{File: path}, Text: text}} }
	c := &Calibration{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, wrong("is no calibration: " + err.Error())
	}
	if c.Format != formats.Calibration || len(c.Clients) == 0 || len(c.Classes) == 0 {
		return nil,
			wrong(
				fmt.Sprintf(
					"has format %d with %d clients: must have format %d and clients; run fedsim calibrate again",
					c.Format, len(c.Clients), formats.Calibration))
	}
	return c, nil
}

// CheckFree reports a directory that Write refuses.
func CheckFree(dir string, force bool) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !force:
		return fmt.Errorf("%s: %w: use --force to replace a calibration", dir, ErrExists)
	}
	figures, err := os.ReadDir(filepath.Join(dir, FiguresDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := map[string]bool{
		CalibrationFile: true, FleetFile: true, NominalFile: true, ScenarioFile: true, ReportFile: true, PageFile: true,
		FiguresDir: true,
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, e := range figures {
		names = append(names, filepath.Join(FiguresDir, e.Name()))
	}
	for _, name := range []string{measuredFigure, residualsFigure, fleetFigure} {
		for _, extension := range plots.Extensions {
			known[filepath.Join(FiguresDir, name+extension)] = true
		}
	}
	for _, name := range names {
		if !known[name] {
			return fmt.Errorf("%s: %w and holds %s, which is no file of a calibration: choose another directory", dir,
				ErrExists, name)
		}
	}
	return nil
}

type file struct{ name, text string }

func (c *Calibration) files(name string, log *attemptlog.Log, r *Results) ([]file, error) {
	if !config.IsName(name) {
		name = "calibrated"
	}
	var text strings.Builder
	if err := plainjson.Print(&text, c); err != nil {
		return nil, err
	}
	files := []file{{CalibrationFile, text.String()}, {ReportFile, r.Text}, {PageFile, string(r.Page)}}
	all := allClients(log)
	encoded, err := fleetText(c.Fleet(all))
	if err != nil {
		return nil, err
	}
	files = append(files, file{FleetFile, encoded}, file{ScenarioFile, c.Scenario(name, Base(log))})
	if HasNominal(all) {
		if encoded, err = fleetText(Nominal(all)); err != nil {
			return nil, err
		}
		files = append(files, file{NominalFile, encoded})
	}
	return files, nil
}

// allClients returns a run with an attempt of every client of a log: that of the run with most
// attempts, which the scenario replays, or else of the first run that has the client.
func allClients(log *attemptlog.Log) *attemptlog.Run {
	run := &attemptlog.Run{Name: "all"}
	seen := map[string]bool{}
	for _, r := range append([]*attemptlog.Run{Base(log)}, log.Runs...) {
		for _, a := range lastAttempts(r) {
			if !seen[a.Client] {
				seen[a.Client] = true
				run.Attempts = append(run.Attempts, *a)
			}
		}
	}
	return run
}

// HasNominal reports whether all attempts of a run have nominal values.
func HasNominal(run *attemptlog.Run) bool {
	return !slices.ContainsFunc(run.Attempts, func(a attemptlog.Attempt) bool {
		return !(a.GFLOPS > 0 && a.DownMbps > 0 && a.UpMbps > 0)
	})
}

// fleetText returns a fleet as TOML, with notes as comments, or the error of making it.
func fleetText(f *fleets.Fleet, notes []string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	encoded, err := config.Encode(f)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Powers are those of %s: logs have none.\n", power)
	for _, n := range notes {
		fmt.Fprintf(&b, "# %s\n", n)
	}
	b.Write(encoded)
	return b.String(), nil
}
