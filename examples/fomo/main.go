// Command fomo is fedsim with what package fedfomo adds to it.
package main

import (
	"os"

	_ "example.com/fomo/fedfomo"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
