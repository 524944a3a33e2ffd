// Command gilbert is fedsim with what package gilbert adds to it.
package main

import (
	"os"

	_ "example.com/gilbert/gilbert"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
