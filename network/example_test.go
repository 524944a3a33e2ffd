package network_test

import (
	"fmt"

	"fedsim/network"
)

// A model of 561 values travels from the server to a device over LTE and back. The
// radio draws power while it receives and sends.
func Example() {
	links := network.NewLinks(network.Defaults(), 1, 1)
	bytes := links.Bytes(561)
	down := links.Send(network.Down, 0, 0, 0, bytes)
	up := links.Send(network.Up, 0, 0, 0, bytes)
	fmt.Printf("%g bytes: %v down, %v up\n", bytes, down.Duration, up.Duration)
	fmt.Printf("%.2f W receiving, %.2f W sending\n", links.Power(network.Down, 0), links.Power(network.Up, 0))
	// Output:
	// 4552 bytes: 37.867402ms down, 41.502857ms up
	// 1.95 W receiving, 3.74 W sending
}
