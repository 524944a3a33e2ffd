// Command steady is fedsim with what package steady adds to it.
package main

import (
	"os"

	_ "example.com/steady/steady"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
