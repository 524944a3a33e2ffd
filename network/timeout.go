package network

import (
	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// Values of the key retransmit: what a further connection of a transfer sends.
const (
	Restart = "restart" // the whole message
	Proceed = "resume"  // what has not arrived
)

// TimeoutConfig is a part of the table [network.wire]: when a connection is given up, and what follows.
type TimeoutConfig struct {
	// a connection is given up so many seconds after its begin, latency included; its transfer may
	// take resends further ones
	TimeoutS float64 `toml:"timeout_s" absent:"0: never"`
	// a connection is given up when no byte has moved for so many seconds: during latency, at rate
	// 0, on a shared link without capacity and while the device is unavailable
	IdleTimeoutS float64 `toml:"idle_timeout_s" absent:"0: never"`
	// further connections of a transfer; without one left, the attempt fails
	Resends int `toml:"resends"`
	// what a further connection sends: "restart" (the whole message) or "resume" (what has not arrived)
	Retransmit string `toml:"retransmit"`
	// with retransmit "resume": only whole pieces of so many bytes of the message count as arrived
	ResumeBytes float64 `toml:"resume_bytes" absent:"0: each byte counts"`
	// seconds until the next connection
	ReconnectS float64 `toml:"reconnect_s"`
}

// TimesOut reports whether connections may be given up.
func (t *TimeoutConfig) TimesOut() bool { return t.TimeoutS > 0 || t.IdleTimeoutS > 0 }

// Validate reports all errors in the keys.
func (t *TimeoutConfig) Validate(c *config.Checker) {
	seconds := func(key string, x float64) {
		c.Require(x >= 0 && x <= 1e9, key, x, "must be positive and at most 1e+09")
		c.Require(x <= 0 || x >= 1e-9, key, x, "must be at least a nanosecond")
	}
	seconds("timeout_s", t.TimeoutS)
	seconds("idle_timeout_s", t.IdleTimeoutS)
	seconds("reconnect_s", t.ReconnectS)
	c.Require(t.Resends >= 0 && t.Resends <= 1e6, "resends", t.Resends, "must be in [0, 1e6]")
	c.Require(t.Resends == 0 || t.TimesOut(), "resends", t.Resends, "requires timeout_s or idle_timeout_s")
	c.OneOf("retransmit", t.Retransmit, Restart, Proceed)
	c.Require(t.Retransmit == Restart || t.Resends > 0, "retransmit", t.Retransmit, "requires resends")
	c.Require(t.ReconnectS == 0 || t.Resends > 0, "reconnect_s", t.ReconnectS, "requires resends")
	c.Require(t.ResumeBytes >= 0 && t.ResumeBytes <= 1e15, "resume_bytes", t.ResumeBytes,
		"must be positive and at most 1e+15")
	c.Require(t.ResumeBytes == 0 || t.Retransmit == Proceed, "resume_bytes", t.ResumeBytes,
		"requires retransmit = \"resume\"")
}

// Redial returns how long a message of some bytes takes on a further connection, from 1 on, of its transfer. Its jitter
// is a normal number of the stream (seed, rng.Redial, device, round + 2^32 attempt): the first is that of connection 1
// down, then 1 up, 2 down, ... It has no loss: that of a message is drawn once.
func (l *Links) Redial(d Direction, device, round, attempt, connection int, bytes float64) engine.Time {
	seconds := l.present(d, device, bytes)
	if l.steady {
		return engine.FromSeconds(seconds)
	}
	s := rng.NewAttempt(l.seed, rng.Redial, device, round, attempt)
	for range 2*(connection-1) + int(d) {
		s.Normal()
	}
	return engine.FromSeconds(seconds * l.jitter.At(s.Normal()))
}
