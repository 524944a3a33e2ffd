// Package selectors has the selectors of fedsim, a file each: which clients a round of package
// federation asks. It must not know protocols, methods and scenarios.
package selectors
