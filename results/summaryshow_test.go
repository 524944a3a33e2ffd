package results

import "fmt"

func ExampleSummary_Shown() {
	fmt.Print(Summarize(exampleRuns(), Targets{{"suboptimality", 1e-1}, {"suboptimality", 1e-2}, {"test_error", 0.16}}).
		Shown().Text(80))
	// Output:
	// methods: time in s to a primal sub-optimality of 1e-1, mean ± standard error of
	// 2 seeds
	//
	//             network
	//   method          lte    wifi
	//   ---------------------------
	//   CoCoA     1260 ± 60  10.000
	//   MOCHA        63 ± 3   0.500
	//   Mb-SGD     630 ± 30       -
	//   first: MOCHA in 2 of 2 (not certain)
	//   sent, kB: CoCoA 3.00, MOCHA 3.00, Mb-SGD 3.00 at every value
	//
	// methods: time in s to a primal sub-optimality of 1e-2, mean ± standard error of
	// 2 seeds
	//
	//             network
	//   method          lte   wifi
	//   --------------------------
	//   CoCoA     2460 ± 60  20.00
	//   MOCHA       120 ± 0   1.00
	//   Mb-SGD         5400      -
	//   first: MOCHA in 2 of 2 (not certain)
	//   sent, kB: CoCoA 4.50, MOCHA 4.50, Mb-SGD 4.50 at every value
	//
	// methods: time in s to a test error of 16 %, mean ± standard error of 2 seeds
	//
	//             network
	//   method          lte   wifi
	//   --------------------------
	//   CoCoA     3690 ± 90  30.00
	//   MOCHA       186 ± 6   1.50
	//   Mb-SGD        0 ± 0      -
	//   first: Mb-SGD in 1 of 2 (not certain), MOCHA in 1 of 2
	//
	// energy in kJ until then
	//
	//             network
	//   method             lte   wifi
	//   -----------------------------
	//   CoCoA     12.35 ± 0.35  12.00
	//   MOCHA      6.15 ± 0.15   6.00
	//   Mb-SGD     0.00 ± 0.00      -
	//   sent, kB: CoCoA 6.00, MOCHA 6.00, Mb-SGD 1.50 at every value
	//   1 run interrupted
	//
	// faults: time to a primal sub-optimality, h
	//
	//   faults.drop_probability     1e-1   1e-2
	//   ---------------------------------------
	//   0                           10.0   20.0
	//   0.9                        100.0  200.0
	//   never                       11.0   22.0
	//
	// faults: time to a test error, h
	//
	//   faults.drop_probability     16 %
	//   --------------------------------
	//   0                           30.0
	//   0.9                        300.0
	//   never                      never
	//   never: no client could ever respond again
	//
	// faults: at the end
	//
	//                              test error, %
	//   faults.drop_probability    by rows  mean over clients
	//   -----------------------------------------------------
	//   0                             15.0                  0
	//   0.9                           15.0                  0
	//   never                         20.0                  0
	//
	//   faults.drop_probability     time  sent  energy  rounds  responses
	//                                  h    kB      kJ          per round
	//   -----------------------------------------------------------------
	//   0                           30.0  4.50    6.00      30          0
	//   0.9                        300.0  4.50   60.00     300          0
	//   never                       22.0  3.00    3.30      22          0
	//   error: each row counts the same
	//   1 run stalled
	//
	//   warning: methods: primal sub-optimality 1e-01 compares nothing: every method
	//   has it at the earliest evaluation
	//   warning: faults: faults.drop_probability = never: stalled after round 22:
	//   device 3 never responds
	//   warning: faults: primal sub-optimality 1e-01 compares nothing: every
	//   faults.drop_probability has it at the earliest evaluation
	//   note: methods: runs end at 1.50 s (MOCHA) to 30.0 s (CoCoA): errors at the end
	//   do not compare; run.max_time_s gives all the same time
	//   note: faults: runs end at 22.0 h (faults.drop_probability = never) to 12.5 d
	//   (faults.drop_probability = 0.9): errors at the end do not compare;
	//   run.max_time_s gives all the same time
}
