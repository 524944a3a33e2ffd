package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page of a calibration fits a phone and a desk, in light and dark, without messages of its
// policy; what is wide scrolls by itself.
func TestCalibrationPage(t *testing.T) {
	var log strings.Builder
	log.WriteString(
		"round,client,bytes_down,bytes_up,flops,sent_s,reply_first_s,seen_s,receive_s,compute_s,down_mbps,up_mbps\n")
	for round := range 10 {
		for i := range 8 {
			at, compute := 10*float64(round), 1+float64(i)/4+float64((3*round+i)%5)/50
			fmt.Fprintf(&log, "%d,client %d,1e6,1e6,1e9,%g,%g,%g,1,%g,8,8\n", round, i, at, at+1+compute, at+2+compute,
				compute)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "log.csv")
	if err := os.WriteFile(file, []byte(log.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	runFedsim(t, "calibrate", file, "--out", filepath.Join(dir, "cal"))
	b := newTab(t)
	b.do(chromedp.Navigate("file://" + filepath.Join(dir, "cal", "report.html")))
	for _, c := range []struct {
		width int64
		dark  bool
		paper string
	}{{1280, false, "rgb(255, 255, 255)"}, {390, false, "rgb(255, 255, 255)"}, {1280, true, "rgb(20, 23, 26)"},
		{390, true, "rgb(20, 23, 26)"}} {
		b.look(c.width, c.dark, c.width < 500)
		b.picture(fmt.Sprintf("calibration-%d-%t", c.width, c.dark))
		if wide := ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("at %d pixels the page is %g too wide", c.width, wide)
		}
		if paper := ask[string](b, `getComputedStyle(document.body).backgroundColor`); paper != c.paper {
			t.Errorf("the background is %s, want %s (dark: %t)", paper, c.paper, c.dark)
		}
		if n := ask[int](b,
			`[...document.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().width > 500).length`); n != 3 {
			t.Errorf("at %d pixels %d figures are large enough to read, want 3", c.width, n)
		}
	}
}
