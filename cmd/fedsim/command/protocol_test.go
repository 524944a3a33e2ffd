package command

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var updateProtocol = flag.Bool("update-protocol", false, "rewrite the responses in docs/protocols.md")

// The transcripts in docs/protocols.md are those of fedsim engine, line by line.
func TestEngineTranscripts(t *testing.T) {
	t.Parallel()
	const page = "docs/protocols.md"
	text := read(t, page)
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "phones.toml"), blocks(text, "toml")[0])
	transcripts := blocks(text, "text")
	expect.Must(t, len(transcripts) == 2, "%d transcripts", len(transcripts))
	for _, transcript := range transcripts {
		command, lines, _ := strings.Cut(transcript, "\n")
		got := command + "\n"
		p := startEngine(t, dir, append(calls(command)[0][1:], "--no-figures")...)
		for line := range strings.Lines(lines) {
			if request, ok := strings.CutPrefix(line, "> "); ok {
				got += line + "< " + stable(p.ask("%s", strings.TrimSuffix(request, "\n")))
			}
		}
		want := map[bool]int{true: 1, false: 0}[strings.Contains(transcript, `"state":"failed"`)]
		status, stderr := p.wait()
		expect.That(t, status == want, "status %d, want %d\n%s", status, want, stderr)
		if got == transcript {
			continue
		}
		if !*updateProtocol {
			t.Errorf("the transcript differs (go test ./cmd/fedsim/command -run TestEngineTranscripts "+
				"-update-protocol writes it):\n%s", got)
			continue
		}
		text = strings.Replace(text, transcript, got, 1)
		filetest.Write(t, filepath.Join(root, page), text)
	}
	for _, name := range []string{"run/metrics.parquet", "run/client_values.parquet", "run/devices.parquet",
		"failures/metrics.parquet"} {
		_, err := os.Stat(filepath.Join(dir, name))
		expect.That(t, err == nil, "%v", err)
	}
}

// stable returns a response without the version of fedsim.
func stable(response string) string {
	return regexp.MustCompile(`"fedsim_version":"[^"]*"`).ReplaceAllString(response, `"fedsim_version":"1.0"`)
}
