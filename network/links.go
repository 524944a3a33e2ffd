package network

import (
	"cmp"

	"fedsim/engine"
	"fedsim/internal/tools/lognormal"
	"fedsim/internal/tools/rng"
)

// Transfer is the result of sending one message.
type Transfer struct {
	Duration engine.Time // from the first bit sent to the last one received
	Lost     bool        // the message did not arrive; the sender notices only the missing response
}

// Direction is the direction of a transfer.
type Direction uint8

const (
	Down Direction = iota // from the server to a device
	Up                    // from a device to the server
)

// Links are the links of all devices: a profile each, or per class, and the device's own
// rates. Only their channels change.
type Links struct {
	seed       uint64
	kinds      []kind
	class      []uint8 // by device; nil if there is one class
	header     int
	payload    int     // bytes per value
	scale      float64 // bytes that each byte stands for
	jitter     lognormal.Multiplier
	steady     bool // neither jitter nor losses: nothing is drawn
	loss       float64
	spread     *lognormal.Multiplier // from which the factor of each device is drawn; nil: factors has them
	channels   []channel             // by device; nil: they do not change
	roundTrips int                   // messages of a transfer besides one
	factors    []float64             // each device's rates as multiples of its profile's; nil if all are 1
}

// kind describes the links of a class.
type kind struct {
	profile Profile
	radio   Radio
	latency float64 // seconds
	wire    float64 // bytes on the wire for each byte of a message
	burst   float64 // bytes on the wire of each transfer that pass at once
}

// Mix assigns the links of devices to classes.
type Mix struct {
	Profiles []Profile // by class
	Class    []uint8   // by device: index into Profiles
	Rate     []float64 // by device: factor of both rates; nil: all 1
}

// NewLinks returns the links of n devices of a valid configuration. Their rates depend
// only on the seed and the device, not on n.
func NewLinks(cfg Config, n int, seed uint64) *Links {
	l := LazyLinks(cfg, seed)
	if l.spread == nil {
		return l
	}
	factors := make([]float64, n)
	for device := range factors {
		factors[device] = l.factor(device)
	}
	l.factors, l.spread = factors, nil
	return l
}

// LazyLinks is NewLinks of any number of devices: their rates are drawn whenever they are asked for.
func LazyLinks(cfg Config, seed uint64) *Links {
	l := newLinks(&cfg, []Profile{cfg.Link()}, seed)
	if cfg.RateSpread != 0 {
		spread := lognormal.Of(cfg.RateSpread)
		l.spread = &spread
	}
	return l
}

// NewMixedLinks returns the links of a mix. The configuration gives all other properties
// except the spread.
func NewMixedLinks(cfg Config, mix Mix, seed uint64) *Links {
	l := newLinks(&cfg, mix.Profiles, seed)
	l.class, l.factors = mix.Class, mix.Rate
	return l
}

func newLinks(cfg *Config, profiles []Profile, seed uint64) *Links {
	l := &Links{
		seed:    seed,
		header:  cfg.HeaderBytes,
		payload: cfg.PayloadBytesPerValue,
		scale:   cmp.Or(cfg.BytesScale, 1),
		jitter:  lognormal.Of(cfg.Jitter),
		steady:  cfg.Jitter == 0 && cfg.LossProbability == 0,
		loss:    cfg.LossProbability,
	}
	for _, p := range profiles {
		l.kinds = append(l.kinds, kind{
			profile: p, radio: p.radio(cfg.Radio == RadioStates), latency: p.RTTms / 1e3 / 2,
			wire: cmp.Or(p.WireFactor, cfg.WireFactor, 1), burst: cmp.Or(p.BurstBytes, cfg.BurstBytes),
		})
	}
	return l
}

func (l *Links) kind(device int) *kind {
	if l.class == nil {
		return &l.kinds[0]
	}
	return &l.kinds[l.class[device]]
}

// Profile returns the profile of the link of a device, without the device's own rate
// factor.
func (l *Links) Profile(device int) Profile { return l.kind(device).profile }

// Radio returns the radio of a device. With radio = "active" it has only the active
// state.
func (l *Links) Radio(device int) *Radio { return &l.kind(device).radio }

// Stateless reports whether all radios have only the active state.
func (l *Links) Stateless() bool {
	for i := range l.kinds {
		if r := &l.kinds[i].radio; r.TailDuration() != 0 || r.Promotion.Length != 0 {
			return false
		}
	}
	return true
}

// AddRoundTrips makes every transfer several messages, one after the other, each with the
// latency of the link.
func (l *Links) AddRoundTrips(n int) {
	l.roundTrips = n
	for i := range l.kinds {
		l.kinds[i].latency *= float64(1 + n)
	}
}

// Bytes returns the size of a message with a number of values.
func (l *Links) Bytes(values int) float64 {
	return float64(l.header) + float64(float64(values)*float64(l.payload))
}

// Mbps returns the rate of the link of a device in a direction, in 10^6 bit/s.
func (l *Links) Mbps(d Direction, device int) float64 {
	p := &l.kind(device).profile
	if d == Down {
		return float64(p.DownlinkMbps * l.factor(device))
	}
	return float64(p.UplinkMbps * l.factor(device))
}

func (l *Links) factor(device int) float64 {
	switch {
	case l.factors != nil:
		return l.factors[device]
	case l.spread == nil:
		return 1
	}
	// Round 0 of this purpose draws the speed of the device's processor.
	s := rng.New(l.seed, rng.Spread, device, 1)
	return l.spread.At(s.Normal())
}

// Expected returns the duration of a message of some bytes to or from a device without
// jitter: half the round trip + 8 Timed(bytes) / bandwidth. The device knows it in advance.
func (l *Links) Expected(d Direction, device int, bytes float64) engine.Time {
	return engine.FromSeconds(l.seconds(d, device, bytes))
}

// LatencyShare returns the latency of a message of some bytes to or from a device as a
// share of the message's duration. Jitter stretches both alike.
func (l *Links) LatencyShare(d Direction, device int, bytes float64) float64 {
	latency := l.Latency(device)
	if latency == 0 {
		return 0
	}
	return latency / l.present(d, device, bytes)
}

// Send sends a message of some bytes to or from a device in a round. attempt counts from 0.
//
// Loss and jitter are the first numbers of the stream (seed, rng.Downlink or rng.Uplink, device,
// round + 2^32 attempt). A transfer is lost if u < loss_probability, with the same u for
// every probability. Its jitter does not depend on its bytes. So all algorithms face the
// same links.
func (l *Links) Send(d Direction, device, round, attempt int, bytes float64) Transfer {
	seconds, loss := l.present(d, device, bytes), l.loss
	if l.channels != nil {
		loss = l.channels[device].loss
	}
	if l.steady {
		return Transfer{Duration: engine.FromSeconds(seconds)}
	}
	purpose := rng.Downlink
	if d == Up {
		purpose = rng.Uplink
	}
	s := rng.NewAttempt(l.seed, purpose, device, round, attempt)
	lost := s.Float64() < loss
	return Transfer{Duration: engine.FromSeconds(seconds * l.jitter.At(s.Normal())), Lost: lost}
}

// Power returns the power in watts of the radio of a device while it receives or sends at
// the rate of its link.
func (l *Links) Power(d Direction, device int) float64 {
	return l.kind(device).radio.Active(d, l.Mbps(d, device))
}

// OnWire returns the bytes that a message of some bytes puts on the wire of a device:
// Config.BytesScale for each, with the headers of packets, WireFactor times as many.
func (l *Links) OnWire(device int, bytes float64) float64 {
	return float64(float64(bytes*l.scale) * l.kind(device).wire)
}

// Timed returns how many bytes of a message on the wire of a device take time at the rate of
// the link: max(0, OnWire - BurstBytes), since a token bucket lets a burst pass at once.
func (l *Links) Timed(device int, bytes float64) float64 {
	return max(0, l.OnWire(device, bytes)-l.kind(device).burst)
}

// seconds returns the duration of some bytes on the link of a device without jitter.
func (l *Links) seconds(d Direction, device int, bytes float64) float64 {
	return l.kind(device).latency + float64(l.Timed(device, bytes)*8/(l.Mbps(d, device)*1e6))
}
