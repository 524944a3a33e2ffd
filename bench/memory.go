package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// peakMemory samples the memory of a process and of all that it has started until stop is
// closed, and then sends the largest sum in bytes. Shared pages count in part (PSS). A sample
// of a large process takes milliseconds: samples take at most a thirtieth of a core.
func peakMemory(root int, stop <-chan struct{}) <-chan float64 {
	peak := make(chan float64, 1)
	go func() {
		most := 0.0
		for {
			begin := time.Now()
			most = max(most, memory(root))
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(max(30*time.Since(begin), 20*time.Millisecond)):
			}
		}
	}()
	return peak
}

// memory returns the PSS of a process and its descendants in bytes. Processes that end
// meanwhile do not count.
func memory(root int) (bytes float64) {
	parents := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// The name, in parentheses, may have spaces.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parents[id], _ = strconv.Atoi(fields[1])
	}
	for id := range parents {
		ancestor, known := id, true
		for known && ancestor != root {
			ancestor, known = parents[ancestor]
		}
		if !known {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", id))
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				kib, _ := strconv.Atoi(strings.Fields(rest)[0])
				bytes += float64(kib) * 1024
			}
		}
	}
	return bytes
}
