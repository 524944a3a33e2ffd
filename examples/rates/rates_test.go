package main

import (
	"fmt"
	"os"
)

func Example_compare() {
	folder, err := os.MkdirTemp("", "rates")
	if err == nil {
		err = compare(os.Stdout, folder)
	}
	fmt.Println(err, os.RemoveAll(folder))
	// Output:
	// 3g, MOCHA: 50 rounds in 15.0 s
	// 3g, CoCoA: 50 rounds in 106.8 s
	// wifi, MOCHA: 50 rounds in 15.0 s
	// wifi, CoCoA: 50 rounds in 96.2 s
	// <nil> <nil>
}
