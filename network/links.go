package network

import (
	"fedsim/engine"
	"fedsim/internal/lognormal"
	"fedsim/internal/rng"
)

// Transfer is what becomes of one message on its way.
type Transfer struct {
	Duration engine.Time // from the first bit sent to the last one received
	Lost     bool        // it did not arrive; who sends knows only when the answer does not come
}

// Links is the links of a federation: the profile of each, or of its class, and
// each device's own rates. It does not change.
type Links struct {
	seed    uint64
	kinds   []kind
	class   []uint8 // of each device; nil when there is one alone
	header  int
	payload int // bytes of a value
	jitter  lognormal.Multiplier
	steady  bool // neither jitter nor losses: nothing is drawn
	loss    float64
	factors []float64 // by which each device's rates differ from the profile's; none when they do not
}

// kind is what all links of a class are.
type kind struct {
	profile Profile
	radio   Radio
	latency float64 // seconds
}

// Mix is the links of a federation when they are of several classes.
type Mix struct {
	Profiles []Profile // of the classes
	Class    []uint8   // of each device: index into Profiles
	Rate     []float64 // that both rates of each device are multiplied by; nil: none is
}

// NewLinks returns the links of n devices of a valid configuration. Their rates
// depend on the seed and on nothing else: device t of a larger federation has
// the same.
func NewLinks(cfg Config, n int, seed uint64) *Links {
	l := newLinks(&cfg, []Profile{cfg.Link()}, seed)
	if cfg.RateSpread == 0 {
		return l
	}
	l.factors = make([]float64, n)
	spread := lognormal.Of(cfg.RateSpread)
	for t := range l.factors {
		// Round 0 of this purpose is the speed of the device's processor.
		s := rng.New(seed, rng.Spread, t, 1)
		l.factors[t] = spread.At(s.Normal())
	}
	return l
}

// NewMixedLinks returns the links of a mix; the configuration says all else of
// them but their spread.
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
		jitter:  lognormal.Of(cfg.Jitter),
		steady:  cfg.Jitter == 0 && cfg.LossProbability == 0,
		loss:    cfg.LossProbability,
	}
	for _, p := range profiles {
		l.kinds = append(l.kinds, kind{profile: p, radio: p.radio(cfg.Radio == RadioStates), latency: p.RTTms / 1e3 / 2})
	}
	return l
}

// kind returns what the link of device t is.
func (l *Links) kind(t int) *kind {
	if l.class == nil {
		return &l.kinds[0]
	}
	return &l.kinds[l.class[t]]
}

// Profile returns what the link of device t is, before it differs in its rates from
// its like.
func (l *Links) Profile(t int) Profile { return l.kind(t).profile }

// Radio returns the radio of device t. Under radio "active" it has no state but the
// active one.
func (l *Links) Radio(t int) *Radio { return &l.kind(t).radio }

// Stateless reports whether no device has a radio with a state but the active one.
func (l *Links) Stateless() bool {
	for i := range l.kinds {
		if r := &l.kinds[i].radio; r.TailDuration() != 0 || r.Promotion.Length != 0 {
			return false
		}
	}
	return true
}

// SetActivePower gives the radios an active power in watts that does not depend on
// the rate, in place of the profile's.
func (l *Links) SetActivePower(watts float64) {
	for i := range l.kinds {
		r := &l.kinds[i].radio
		r.up, r.down, r.base = 0, 0, 1e3*watts
	}
}

// Bytes returns the size of a message that carries that many values.
func (l *Links) Bytes(values int) float64 {
	return float64(l.header) + float64(float64(values)*float64(l.payload))
}

// DownlinkMbps returns the rate of device t from the server, in 10^6 bit/s.
func (l *Links) DownlinkMbps(t int) float64 {
	return float64(l.kind(t).profile.DownlinkMbps * l.factor(t))
}

// UplinkMbps returns the rate of device t to the server, in 10^6 bit/s.
func (l *Links) UplinkMbps(t int) float64 { return float64(l.kind(t).profile.UplinkMbps * l.factor(t)) }

func (l *Links) factor(t int) float64 {
	if l.factors == nil {
		return 1
	}
	return l.factors[t]
}

// ExpectedDownlink returns how long a message of that many bytes takes to
// device t without jitter: half the round trip + 8 bytes / bandwidth. It is
// what the device can know beforehand.
func (l *Links) ExpectedDownlink(t int, bytes float64) engine.Time {
	return engine.FromSeconds(l.seconds(t, l.DownlinkMbps(t), bytes))
}

// ExpectedUplink is ExpectedDownlink for a message from device t.
func (l *Links) ExpectedUplink(t int, bytes float64) engine.Time {
	return engine.FromSeconds(l.seconds(t, l.UplinkMbps(t), bytes))
}

// DownlinkLatencyShare returns which share of the time of a message of that many bytes to
// device t passes before its first byte moves: that of half the round trip. Jitter
// stretches both parts alike.
func (l *Links) DownlinkLatencyShare(t int, bytes float64) float64 {
	return l.latency(t, l.DownlinkMbps(t), bytes)
}

// UplinkLatencyShare is DownlinkLatencyShare for a message from device t.
func (l *Links) UplinkLatencyShare(t int, bytes float64) float64 {
	return l.latency(t, l.UplinkMbps(t), bytes)
}

func (l *Links) latency(t int, mbps, bytes float64) float64 {
	latency := l.kind(t).latency
	if latency == 0 {
		return 0
	}
	return latency / l.seconds(t, mbps, bytes)
}

// Downlink sends a message of that many bytes to device t: the attempt-th, from
// 0 up, in a round.
//
// Loss and jitter are the first numbers of the stream (seed, rng.Downlink, t,
// round + 2^32 attempt). A transfer is lost when u < loss_probability with the
// same u for every probability, and its jitter does not depend on its bytes, so
// that algorithms are compared on the same links.
func (l *Links) Downlink(t, round, attempt int, bytes float64) Transfer {
	return l.transfer(rng.Downlink, l.DownlinkMbps(t), t, round, attempt, bytes)
}

// Uplink is Downlink for a message from device t, with draws of its own.
func (l *Links) Uplink(t, round, attempt int, bytes float64) Transfer {
	return l.transfer(rng.Uplink, l.UplinkMbps(t), t, round, attempt, bytes)
}

// DownlinkPower returns the power in watts of the radio of device t while it
// receives at the rate of its link.
func (l *Links) DownlinkPower(t int) float64 { return l.kind(t).radio.Active(l.DownlinkMbps(t), 0) }

// UplinkPower returns the power in watts of the radio of device t while it
// sends at the rate of its link.
func (l *Links) UplinkPower(t int) float64 { return l.kind(t).radio.Active(0, l.UplinkMbps(t)) }

// seconds returns how long that many bytes take on the link of device t, without
// jitter.
func (l *Links) seconds(t int, mbps, bytes float64) float64 {
	return l.kind(t).latency + float64(bytes*8/(mbps*1e6))
}

func (l *Links) transfer(way rng.Purpose, mbps float64, t, round, attempt int, bytes float64) Transfer {
	seconds := l.seconds(t, mbps, bytes)
	if l.steady {
		return Transfer{Duration: engine.FromSeconds(seconds)}
	}
	s := rng.NewAttempt(l.seed, way, t, round, attempt)
	lost := s.Float64() < l.loss
	return Transfer{Duration: engine.FromSeconds(seconds * l.jitter.At(s.Normal())), Lost: lost}
}
