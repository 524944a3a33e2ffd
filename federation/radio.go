package federation

import (
	"math"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// transferring, as the end of a radio's last activity, is that of one under way.
const transferring = engine.Never

// startRadios gives radios the active power that the devices know, if they do, and
// keeps track of when each was active last, unless radios have no states. At the
// start they sleep. What devices know comes from a power profile, which is that of
// all of them.
func (f *Federation) startRadios(n int) {
	device, active := f.fleet.Profile(0), 0.0
	switch f.links.Profile(0).Radio {
	case network.WiFi:
		active = device.WiFiW
	case network.Cellular:
		active = device.CellularW
	}
	if active > 0 {
		f.links.SetActivePower(active)
	}
	if f.links.Stateless() {
		return
	}
	f.radios = make([]engine.Time, n)
	for t := range f.radios {
		f.sleep(t)
	}
}

// sleep lets the radio of device t sleep at once.
func (f *Federation) sleep(t int) {
	if f.radios != nil {
		f.radios[t] = -f.links.Radio(t).TailDuration()
	}
}

// promotion returns by how much a transfer of device t is delayed that begins now.
func (f *Federation) promotion(t int) engine.Time {
	return f.promotionAt(t, f.clock.Now())
}

// promotionAt returns by how much a transfer of device t is delayed that begins at
// an instant, when there is none until then.
func (f *Federation) promotionAt(t int, at engine.Time) engine.Time {
	if f.radios == nil || f.radios[t] == transferring {
		return 0
	}
	return f.promotionAfter(t, at-f.radios[t])
}

// promotionAfter returns by how much a transfer of device t is delayed that begins
// so long after the last one.
func (f *Federation) promotionAfter(t int, quiet engine.Time) engine.Time {
	if radio := f.links.Radio(t); radio.Asleep(quiet) {
		return radio.Promotion.Length
	}
	return 0
}

// spare returns how many of the seconds that a clock cycle leaves device t it can
// compute: whoever does so for as long as its radio is awake has to wake it for the
// answer.
func (f *Federation) spare(t int, seconds float64) float64 {
	radio := f.links.Radio(t)
	if f.radios == nil || seconds < radio.TailDuration().Seconds() {
		return seconds
	}
	awake := radio.TailDuration() - 1
	return max(awake.Seconds(), seconds-radio.Promotion.Length.Seconds())
}

// foretold reports whether change says what devices draw behind the latency of their
// transfers: without states of radios and flows the instant is known, the power the link's.
func (f *Federation) foretold() bool { return f.radios == nil && f.traffic == nil }

// change returns when device t moves the first byte of the transfer that it is at, and
// what it draws from then on; otherwise nothing that is to come.
func (f *Federation) change(t int) (at engine.Time, watts float64) {
	d := &f.devices[t]
	if d.phase == compute || !d.working() {
		return 0, 0
	}
	return d.began, f.moves(t, 0)
}

// moves returns what device t draws while the bytes of its transfer take so long, which
// matters only to radios that have states.
func (f *Federation) moves(t int, bytes engine.Time) float64 {
	if f.devices[t].phase == download {
		return f.receiving(t, bytes)
	}
	return f.sending(t, bytes)
}

// carry sets what device t draws from now on for its transfer, of which so much
// latency is left: the radio's promotion, then what a radio takes that is connected
// and moves nothing, then what it takes to move bytes.
func (f *Federation) carry(t int, latency engine.Time) {
	if f.foretold() {
		watts := f.connected(t)
		if latency == 0 {
			watts = f.moves(t, 0)
		}
		f.batteries.SetPower(t, f.clock.Now(), watts)
		f.guard(t)
		return
	}
	idle, radio := f.fleet.IdlePower(t), f.links.Radio(t)
	load := devices.PowerSequence{Watts: f.power(t, f.devices[t].phase)}
	if wakes := f.promotion(t); wakes > 0 {
		load.Stages[0] = devices.Stage{Length: wakes, Watts: idle + radio.Promotion.Watts}
	}
	if connected := f.connected(t); connected != load.Watts {
		load.Stages[1] = devices.Stage{Length: latency, Watts: connected}
	}
	if f.radios != nil {
		f.radios[t] = transferring
	}
	f.batteries.SetPowerSequence(t, f.clock.Now(), load)
	f.guard(t)
}

// connected returns what device t draws while its radio is awake and moves nothing.
func (f *Federation) connected(t int) float64 {
	return f.fleet.IdlePower(t) + f.links.Radio(t).Active(0, 0)
}

// latency returns which share of the transfer that is a phase of device t passes
// before its first byte moves. Cost models that give transfers their lengths know no
// latency.
func (f *Federation) latency(t int, p phase) float64 {
	switch {
	case f.setup.Config.Cost != Physical:
		return 0
	case p == download:
		return f.links.DownlinkLatencyShare(t, f.bytes.down)
	default:
		return f.links.UplinkLatencyShare(t, f.uploadBytes(t))
	}
}

// waiting returns how much of a transfer of some length is latency, when that is a
// share of it. At least a nanosecond is left for the bytes.
func waiting(latency float64, length engine.Time) engine.Time {
	return max(0, min(engine.Time(latency*float64(length)), length-1))
}

// moved returns how many bytes of a message have moved when a share of its transfer
// is over, whose latency is a share of it, too. Bytes are whole.
func moved(bytes, share, latency float64) float64 {
	switch {
	case share >= 1:
		return bytes
	case share <= latency:
		return 0
	default:
		return math.Floor(float64(bytes*(share-latency)) / (1 - latency))
	}
}

// load returns what device t, which transfers nothing, draws from now on, given the
// power in its phase that its radio's tail is not part of.
func (f *Federation) load(t int, watts float64) devices.PowerSequence {
	now, radio := f.clock.Now(), f.links.Radio(t)
	load := devices.PowerSequence{Watts: watts}
	if f.radios[t] == transferring {
		f.radios[t] = now
	}
	for i, s := range radio.RemainingTail(now - f.radios[t]) {
		load.Stages[i] = devices.Stage{Length: s.Length, Watts: watts + s.Watts}
	}
	return load
}

// receiving returns what device t draws while the bytes of the server's message take
// so long.
func (f *Federation) receiving(t int, length engine.Time) float64 {
	return f.fleet.IdlePower(t) + f.links.Radio(t).Active(f.rate(f.links.DownlinkMbps(t), f.bytes.down, length), 0)
}

// sending is receiving for the device's answer.
func (f *Federation) sending(t int, length engine.Time) float64 {
	return f.fleet.IdlePower(t) + f.links.Radio(t).Active(0, f.rate(f.links.UplinkMbps(t), f.uploadBytes(t), length))
}

// rate returns the rate in 10^6 bit/s that a radio pays for as long as bytes move:
// that at which they do when radios have states and transfers their real lengths,
// that of its link otherwise. Where the rate changes meanwhile it is 0, and pay pays
// for the bytes.
func (f *Federation) rate(link, bytes float64, length engine.Time) float64 {
	switch {
	case f.radios == nil || f.setup.Config.Cost != Physical:
		return link
	case f.traffic != nil:
		return 0
	case length == 0:
		return link
	default:
		return bytes * 8 / 1e6 / length.Seconds()
	}
}

// pay lets device t pay for the bytes that it has moved in a stretch of a transfer,
// at its end.
func (f *Federation) pay(t int, down, up float64) {
	if joules := f.moving(t, down, up); joules > 0 {
		f.batteries.Spend(t, f.clock.Now(), joules)
	}
}

// moving returns the energy in joules of bytes that device t pays for at the end of
// transfers.
func (f *Federation) moving(t int, down, up float64) float64 {
	if f.radios == nil || f.traffic == nil {
		return 0
	}
	return f.links.Radio(t).TransferEnergy(down, up)
}

// between returns the energy in joules that the radio of device t takes in an
// attempt besides sending and receiving, when it sleeps at first and the device
// computes for so long.
func (f *Federation) between(t int, work engine.Time) float64 {
	if f.radios == nil {
		return 0
	}
	radio := f.links.Radio(t)
	awake := func(length engine.Time) float64 {
		return float64((f.fleet.IdlePower(t) + radio.Promotion.Watts) * length.Seconds())
	}
	sum := awake(radio.Promotion.Length) + awake(f.promotionAfter(t, work))
	for i, rest := range radio.RemainingTail(work) {
		sum += float64((radio.Tail[i].Length - rest.Length).Seconds() * rest.Watts)
	}
	return sum
}
