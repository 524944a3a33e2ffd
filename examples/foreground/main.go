// Command foreground is fedsim with what package foreground adds to it.
package main

import (
	"os"

	_ "example.com/foreground/foreground"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
