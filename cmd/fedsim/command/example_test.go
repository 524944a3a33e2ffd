package command_test

import (
	"fmt"
	"os"

	"fedsim/cmd/fedsim/command"
)

// A main package that imports plugins is fedsim with these plugins: Main is all it calls.
func ExampleMain() {
	exit := command.Main([]string{"methods", "hinge"}, os.Stdout, os.Stderr)
	fmt.Println("exit", exit)
	// Output:
	// hinge, a loss (problem.loss) of a score z and a label y; g is
	// loss_options.smoothing: max(0, 1 - yz)
	//   The conjugate loss*(-a) is -ya, finite where: 0 <= ya <= 1.
	//   Shalev-Shwartz and Zhang: Stochastic dual coordinate ascent methods for
	//   regularized loss minimization, JMLR 14, 2013, section 6.2
	// exit 0
}
