// Command prox is fedsim with what package fedavgprox adds to it.
package main

import (
	"os"

	_ "example.com/prox/fedavgprox"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
