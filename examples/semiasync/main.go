// Command semiasync is fedsim with the protocol of package semiasync.
package main

import (
	"os"

	_ "example.com/semiasync/semiasync"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
