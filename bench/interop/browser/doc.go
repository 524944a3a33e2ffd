// Package browser tests the pages of fedsim report and fedsim serve in Chromium, which
// `make test-browser` installs with apt-get.
package browser
