package clients

import (
	"testing"

	"fedsim/devices"
	"fedsim/network"
)

const idleW = 0.5

// setup returns clients on mains whose processors do 1000 FLOP/s and whose links carry
// 10^6 bit/s each way with a round trip of 10 ms. Nothing fails. change may be nil.
func setup(n int, change func(*Setup)) Setup {
	s := Setup{System: System{
		Clients: n, Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(), Seed: 3,
	}}
	d, l := &s.Devices, &s.Network
	d.ClockGHz, d.FlopsPerCycle, d.IdleW, d.ComputeW, d.BatteryWh, d.Charging = 1e-6, 1, idleW, 2, devices.Mains,
		devices.WhenDepleted
	l.DownlinkMbps, l.UplinkMbps, l.RTTms = 1, 1, 10
	if change != nil {
		change(&s)
	}
	if s.Devices.ChargeW == 0 && s.Devices.Charging == devices.WhenDepleted {
		s.Devices.Charging = devices.Never // no charger unless a test gives one
	}
	return s
}

func start(t testing.TB, s Setup, l Listener) *Clients {
	t.Helper()
	c, err := New(s, l)
	if err != nil {
		t.Fatal(err)
	}
	c.Begin()
	return c
}
