// Command utility is fedsim with the selector of package utility.
package main

import (
	"os"

	_ "example.com/utility/utility"
	"fedsim/cmd/fedsim/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
