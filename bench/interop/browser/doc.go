// Package browser tests the pages of fedsim in Chromium: what fedsim report writes
// and fedsim serve shows. Its tests need chromium, which `make test-browser` installs
// where apt-get can.
package browser
