// Package browser tests the pages of fedsim report, also of --live, in Chromium, which
// `make test-browser` installs with apt-get.
package browser
