package experiment

import (
	"fmt"
	"math"
	"strings"

	"fedsim/data"
	"fedsim/devices"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/mtl"
	"fedsim/results"
)

// onTestRows reports whether a metric is measured on test rows, also a statistic over clients.
func onTestRows(metric string) bool { return strings.HasPrefix(metric, "test_") }

// coolest says that no device gets as hot as to throttle; empty if one may, or none has heat.
func coolest(s *scenario.Settings) string {
	heat, profiles := []devices.HeatConfig{s.Devices.HeatConfig}, []devices.Profile{s.Devices.Device()}
	if fleet := s.Fleet.Fleet(); fleet != nil {
		machines, _ := fleet.Assemble(1, nil, 0)
		heat, profiles = fleet.Heat(s.Devices.HeatConfig), machines.Profiles
	}
	text, below := "", math.Inf(1)
	for i, h := range heat {
		settles := h.Settles(profiles[i].ComputeW)
		if h.KPerW == 0 {
			continue
		}
		if settles > h.ThrottleC {
			return ""
		}
		if h.ThrottleC-settles < below {
			below = h.ThrottleC - settles
			text = fmt.Sprintf("devices.heat.throttle_c = %g: no device reaches it: at compute_w = %g it settles at "+
				"%.3g C", h.ThrottleC, profiles[i].ComputeW, settles)
		}
	}
	return text
}

// inRounds reports whether a run has rounds whose method is one of a server without rounds.
func inRounds(run *scenario.RunSpec) bool {
	own := run.Settings.Federation
	own.Protocol = run.Describe(mtl.Shape{}).Protocol
	return own.Traits().Continuous && !run.Settings.Federation.Traits().Continuous
}

// warnings returns doubts about the choices behind a run: options and ends that test
// rows decide, tuning that may have ended beside the best value, clients that have no say, and settings
// without the effect that they seem to have.
func (j *job) warnings(run *scenario.RunSpec, p *prepared) (list []results.Warning) {
	add := func(about, format string, of ...any) {
		list = append(list, results.Warning{About: about, Text: about + ": " + fmt.Sprintf(format, of...)})
	}
	note := func(about, format string, of ...any) {
		list = append(list, results.Warning{About: about, Text: fmt.Sprintf(format, of...), Note: true})
	}
	const remedy = "what is chosen by test rows fits them, so their errors are too low; " +
		"use validation rows (data.validation_fraction)"
	if len(j.Candidates) > 1 && onTestRows(j.Target.Metric) {
		add("tuned on test rows", "the target is %s; %s", j.Target.Metric, remedy)
	}
	if metric := run.Settings.Run.StopAt.Metric; onTestRows(metric) {
		add("stopped on test rows", "run.stop_at is of %s; %s", metric, remedy)
	}
	if len(j.Candidates) > 1 && len(j.Trials) > 0 && j.folds == 0 {
		for _, c := range j.Curves() {
			add("tuning is not unimodal in "+strings.TrimPrefix(c.Key, "options."), "%s", c.Text(&j.Grid))
		}
	}
	for _, x := range []struct {
		of, key string
		scale   float64
	}{{"FLOP", "devices.flops_scale", run.Settings.Devices.FLOPsScale},
		{"byte", "network.bytes_scale", run.Settings.Network.BytesScale}} {
		if x.scale != 1 {
			note("scaled times", "scaled times: each %s stands for %g in times and energy (%s)", x.of, x.scale, x.key)
		}
	}
	if cool := coolest(&run.Settings); cool != "" {
		list = append(list, results.Warning{About: "heat", Text: cool})
	}
	if inRounds(run) {
		list = append(list,
			results.Warning{About: "protocol", Note: true,
				Text: fmt.Sprintf("works in rounds here (protocol = %q)", run.Settings.Federation.Protocol)})
	}
	s := &run.Settings
	if _, asked := s.Federation.Sizes(p.clients); asked >= p.clients &&
		s.Federation.Selection != federation.Defaults().Selection {
		note("selection", "federation.selection = %q has no effect: every round asks all clients",
			s.Federation.Selection)
	}
	if j.drops && s.Faults.DropProbability.Max() > 0 && s.Federation.Traits().WaitsForAll {
		note("dropouts",
			"dropouts cost time alone: the server asks again until all have responded, so learning is as without them")
	}
	if earlier := p.served.earlier; len(earlier) > 0 {
		add("other program", "it was resumed with %q, and begun with %q", p.served.about.Program,
			strings.Join(earlier, ", "))
	}
	if p.problem != nil {
		if n := (&data.Split{Validation: p.problem.Validation}).WithoutValidation(); n > 0 {
			add("few validation rows", "%d of %d clients have too few training rows to give any", n,
				len(p.problem.Validation.Clients))
		}
	}
	return list
}
