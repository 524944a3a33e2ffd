package calibration

import (
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/orderstat"
)

// Prediction has the parts of the time of one attempt, in seconds.
type Prediction struct {
	Download, Wait, Compute, Upload float64
	Latency                         float64 // of both directions
	// Polls is the mean time that the client waits for its polls, for a message and for a launch, and
	// the server for its own: half of their periods.
	Polls float64
}

// Total returns the time from sending to the complete response.
func (p Prediction) Total() float64 {
	return p.Download + p.Wait + p.Compute + p.Upload + p.Latency + p.Polls
}

// Device has the constants of one client in one run. A value that is not known is NaN, except for
// overheads, which are 0 then.
type Device struct {
	TaskOverheadS, StepOverheadS, TrafficSPerGB float64
	GFLOPS                                      float64
	DownMbps, UpMbps                            float64
	RTTms                                       float64 // NaN: not known
	Jitter                                      float64 // sigma/mu from attempt to attempt
	Known                                       bool    // the client is in the calibration
}

// device returns the constants of the client of an attempt, which may be of another run. A client
// that was calibrated has its constants, its speed times gflops over that of the calibration, and
// its rates times down_mbps and up_mbps over those of the calibration. Another client has the
// constants of its class, or of the first one, and its nominal values.
func (in *index) device(a *attemptlog.Attempt) Device {
	d := Device{Jitter: in.Jitter.Compute.Or(0)}
	var k *Constants
	speed := 1.0 // of the attempt over that of the calibration
	i, ok := in.places[a.Client]
	if d.Known = ok; ok {
		own := &in.Clients[i]
		k = &own.Constants
		speed = ratio(a.GFLOPS, own.NominalGFLOPS)
		d.DownMbps = own.DownMbps.Or(math.NaN()) * ratio(a.DownMbps, own.NominalDownMbps)
		d.UpMbps = own.UpMbps.Or(math.NaN()) * ratio(a.UpMbps, own.NominalUpMbps)
		d.RTTms = own.RTTms.Or(math.NaN())
	} else {
		d.DownMbps, d.UpMbps, d.RTTms = a.DownMbps, a.UpMbps, in.rtt
	}
	if !ok || !k.known() {
		class := in.class(a.Class)
		k, speed = &class.Constants, ratio(a.GFLOPS, class.NominalGFLOPS)
	}
	d.TaskOverheadS, d.StepOverheadS = k.TaskOverheadS.Or(0)/speed, k.StepOverheadS.Or(0)/speed
	d.TrafficSPerGB, d.GFLOPS = k.TrafficSPerGB.Or(0)/speed, k.GFLOPS.Or(math.NaN())*speed
	return d
}

// index finds the clients of a calibration by name.
type index struct {
	*Calibration
	places map[string]int
	rtt    float64 // median of the clients
}

func (c *Calibration) index() *index {
	x := &index{c, make(map[string]int, len(c.Clients)), c.typicalRTT()}
	for i := range c.Clients {
		x.places[c.Clients[i].Name] = i
	}
	return x
}

// known reports whether any of the constants is known.
func (c *Constants) known() bool {
	return c.TaskOverheadS.Known() || c.StepOverheadS.Known() || c.TrafficSPerGB.Known() || c.GFLOPS.Known()
}

// class returns the class with a name, or the first.
func (c *Calibration) class(name string) *Class {
	return &c.Classes[max(0, slices.IndexFunc(c.Classes, func(k Class) bool { return k.Name == name }))]
}

// typicalRTT returns the median round trip of the clients.
func (c *Calibration) typicalRTT() float64 {
	var all []float64
	for i := range c.Clients {
		if v := &c.Clients[i].RTTms; v.Known() {
			all = append(all, v.Value)
		}
	}
	return orderstat.Median(all)
}

// ratio returns x/y, or 1 if one of both is not positive.
func ratio(x, y float64) float64 {
	if x > 0 && y > 0 {
		return x / y
	}
	return 1
}

// predict returns the mean times of an attempt from its sizes and its work. A part that the
// calibration does not know is NaN.
func (in *index) predict(a *attemptlog.Attempt) Prediction {
	d := in.device(a)
	transfer := func(bytes, mbps float64) float64 {
		return max(0, in.Network.WireFactor.Or(1)*bytes-in.Network.BurstBytes.Or(0)) * 8e-6 / mbps
	}
	p := Prediction{
		Download: transfer(a.BytesDown, d.DownMbps), Upload: transfer(a.BytesUp, d.UpMbps),
		Latency: orZero(d.RTTms) / 1000,
	}
	flops := a.FLOPs
	if in.RowsAsFLOPs {
		flops = a.Examples * a.Epochs
	}
	p.Compute = d.TaskOverheadS + float64(d.StepOverheadS*orZero(a.Steps)) +
		float64(d.TrafficSPerGB*orZero(a.TrafficBytes)/1e9)
	if !math.IsNaN(d.GFLOPS) {
		p.Compute += flops / (1e9 * d.GFLOPS)
	}
	if p.Compute == 0 {
		p.Compute = math.NaN()
	}
	p.Wait = in.Waiting.LaunchS.Or(0)
	if gflop := in.Waiting.LaunchGFLOP.Or(0); gflop > 0 {
		p.Wait += gflop / d.GFLOPS
	}
	p.Polls = (in.Waiting.ClientPollS.Or(0) + in.Waiting.LaunchPollS.Or(0) + in.Waiting.ServerPollS.Or(0)) / 2
	return p
}
