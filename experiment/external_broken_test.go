package experiment_test

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// broken returns the answer with the fault that the options ask for, if this is its place.
func (r *run) broken(q *request, text []byte) []byte {
	var op, fault string
	var round int
	if n, _ := fmt.Sscanf(strings.ReplaceAll(r.Fault, "/", " "), "%s %s %d", &op, &fault, &round); n < 2 ||
		op != q.Op || round != 0 && round != q.Round {
		return text
	}
	replace := func(old, new string) []byte {
		if !strings.Contains(string(text), old) {
			panic(fmt.Sprintf("no %s in %s", old, text))
		}
		return []byte(strings.Replace(string(text), old, new, 1))
	}
	switch fault {
	case "exit":
		fmt.Fprintln(os.Stderr, "a line before\nout of memory, said the learner")
		os.Exit(7)
	case "hang":
		for {
			time.Sleep(time.Hour)
		}
	case "garbage":
		return []byte("Traceback (most recent call last):")
	case "half":
		_, _ = os.Stdout.Write(text[:len(text)/2])
		os.Exit(0)
	case "long":
		return []byte(strings.Repeat("x", 100<<20))
	case "nan":
		return replace(`"flops":`, `"flops":NaN,"x":`)
	case "negative":
		return replace(`"flops":`, `"flops":-`)
	case "missing":
		return []byte(`{"work":[]}`)
	case "error":
		return []byte(`{"error":"CUDA out of memory\nsecond line"}`)
	case "metric":
		return replace(`"accuracy"`, `"acuracy"`)
	case "hash":
		return replace(`"model_hash":"`, `"model_hash":"x`)
	case "digest":
		return replace(`"sha256":"`, `"sha256":"x`)
	case "bytes":
		return replace(`bytes":`, `bytes":-`)
	default:
		panic("no fault " + fault)
	}
	return text
}
