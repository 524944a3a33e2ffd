// Command fatigue is fedsim with what package fatigue adds to it.
package main

import (
	"os"

	_ "example.com/fatigue/fatigue"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
