package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "directory for screenshots")

var (
	fedsim  string          // path of the program
	browser context.Context // each test opens a tab
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := withBrowser(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withBrowser builds fedsim, starts Chromium and runs the tests. Without Chromium, the
// tests are skipped.
func withBrowser(run func() int) (code int, err error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return run(), nil
	}
	dir, err := os.MkdirTemp("", "fedsim-browser")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fedsim = filepath.Join(dir, "fedsim")
	build := exec.Command("go", "build", "-o", fedsim, "./cmd/fedsim")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.DisableGPU,
		// Chromium's sandbox does not work for root, and in many containers.
		chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(60*time.Second))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var cancel context.CancelFunc
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		return 0, fmt.Errorf("chromium does not start: %w", err)
	}
	return run(), nil
}

// tab is a tab of the browser. Messages in its console fail the test, unless they contain
// one of the excused texts.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func newTab(t *testing.T, excused ...string) *tab {
	t.Helper()
	if browser == nil {
		t.Skip("needs Chromium: make test-browser installs it")
	}
	ctx, cancel := chromedp.NewContext(browser)
	ctx, cancelTimeout := context.WithTimeout(ctx, 90*time.Second)
	messages := chromedp.Console(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			text := fmt.Sprint(m)
			if !slices.ContainsFunc(excused, func(part string) bool { return strings.Contains(text, part) }) {
				t.Errorf("console: %s %s", text, m.URL)
			}
		}
	}()
	t.Cleanup(func() {
		cancelTimeout()
		cancel()
		<-done
	})
	return &tab{t: t, ctx: ctx}
}

func (ta *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	ta.t.Helper()
	if err := chromedp.Do(ta.ctx, steps...); err != nil {
		ta.t.Fatal(err)
	}
}

// ask evaluates an expression.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// js runs statements.
func (ta *tab) js(statements string) {
	ta.t.Helper()
	ask[bool](ta, "(() => { "+statements+"; return true; })()")
}

// until waits until an expression is true.
func (ta *tab) until(expression string) {
	ta.t.Helper()
	if _, err := chromedp.Run(ta.ctx,
		chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingTimeout(20*time.Second))); err != nil {
		ta.t.Fatalf("%s is not true: %v", expression, err)
	}
}

// look sets the width of the window, the color scheme and touch input.
func (ta *tab) look(width int64, dark, phone bool) {
	ta.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	ta.do(chromedp.EmulateViewport(width, 900, chromedp.EmulateScale(1)))
	_, err := chromedp.Call(ta.ctx, emulation.SetTouchEmulationEnabled,
		emulation.SetTouchEmulationEnabledParams{Enabled: phone})
	if err != nil {
		ta.t.Fatal(err)
	}
	_, err = chromedp.Call(ta.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err != nil {
		ta.t.Fatal(err)
	}
}

// picture writes a screenshot of the whole page if -pictures is set.
func (ta *tab) picture(name string) {
	ta.t.Helper()
	if *pictures == "" {
		return
	}
	png, err := chromedp.Run(ta.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		ta.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o666); err != nil {
		ta.t.Fatal(err)
	}
}

// runFedsim runs fedsim and returns its output.
func runFedsim(t *testing.T, args ...string) string {
	t.Helper()
	if fedsim == "" {
		t.Skip("needs Chromium: make test-browser installs it")
	}
	cmd := exec.Command(fedsim, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("fedsim %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
