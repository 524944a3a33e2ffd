// Command fedsim simulates federated networks; see package command.
package main

import (
	"os"

	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
