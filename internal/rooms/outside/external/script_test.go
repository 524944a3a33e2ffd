package external_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scriptedArgument makes a test binary a learner that follows a transcript.
const scriptedArgument = "scripted-learner-for-tests"

// TestMain makes the test binary a learner if scripted has started it.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == scriptedArgument {
		follow(os.Args[2], os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// scripted returns the command of a learner that answers as a transcript says, while the
// requests are those of the transcript: lines after "> " and, for its answers, after "< ".
// When the last answer is given, it removes the file; after a last line "stays" it ignores the end of its input and
// SIGTERM. An answer "after PATH: ANSWER" waits until there is a file.
func scripted(file string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{self, scriptedArgument, file}
}

// pathsOf matches the path of a file.
var pathsOf = regexp.MustCompile(`("path":")[^"]*"`)

func follow(file string, in io.Reader, out io.Writer) {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	script := strings.Split(strings.TrimSpace(string(text)), "\n")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer := fmt.Sprintf(`{"error":%q}`, "the transcript is over")
		if len(script) > 1 {
			want, _ := strings.CutPrefix(script[0], "> ")
			answer, _ = strings.CutPrefix(script[1], "< ")
			script = script[2:]
			got := lines.Bytes()
			if strings.Contains(want, `"path":"FILE"`) { // the paths of files of a model are new in each run
				got = pathsOf.ReplaceAll(got, []byte(`${1}FILE"`))
			}
			var a, b any
			if json.Unmarshal([]byte(want), &a) != nil || json.Unmarshal(got, &b) != nil || !reflect.DeepEqual(a, b) {
				answer = fmt.Sprintf(`{"error":%q}`, "got "+lines.Text()+", want "+want)
			}
		}
		if path, then, waits := strings.Cut(strings.TrimPrefix(answer, "after "), ": "); waits &&
			strings.HasPrefix(answer, "after ") {
			for answer = then; ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(path); err == nil {
					break
				}
			}
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return
		}
	}
	if len(script) == 0 {
		_ = os.Remove(file)
	}
	for len(script) == 1 && script[0] == "stays" {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	}
}
