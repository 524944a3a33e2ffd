package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"runtime/debug"

	"fedsim/experiment/scenario"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// folder is the run directory.
const folder = "/run"

// request is what the page asks the program for.
type request struct {
	Op   string   `json:"op"`
	Text string   `json:"text"` // a scenario, the part of it before the cursor, or the fragment of a link
	Sets []string `json:"sets"` // overrides, of tests
	Dir  string   `json:"dir"`  // the run directory; empty: folder
}

// page is the state of the program of a page.
type page struct {
	valid  *scenario.Scenario // the last that was read
	cancel context.CancelFunc // of the run under way; nil: none
}

// do answers a request; content is a file, if one is asked for. The function receives the progress of a run.
func (p *page) do(q request, tell func(any)) (answer any, content []byte) {
	if q.Dir == "" {
		q.Dir = folder
	}
	switch q.Op {
	case "about":
		return map[string]any{"version": version(), "numerics": rundir.Numerics}, nil
	case "check":
		s, c := check(context.Background(), q.Text, q.Sets)
		if s != nil {
			p.valid = s
		}
		return c, nil
	case "complete":
		return p.complete(q.Text), nil
	case "link":
		claim, err := rundir.ReadFragment(q.Text)
		if err != nil {
			return map[string]string{"error": err.Error()}, nil
		}
		return linked(claim), nil
	case "file": // a report or a figure, which have a claim, or a scenario
		claim, err := rundir.FindClaim([]byte(q.Text))
		switch {
		case err != nil:
			return map[string]string{"error": err.Error()}, nil
		case claim == nil:
			return map[string]string{"text": q.Text}, nil
		}
		return linked(claim), nil
	case "source":
		source, _ := scenarios.Source(q.Text)
		return map[string]string{"text": string(source)}, nil
	case "share":
		return rundir.Fragment([]byte(q.Text)), nil
	case "run":
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(context.Background())
		defer func() {
			p.cancel()
			p.cancel = nil
			debug.FreeOSMemory()
		}()
		return run(ctx, q.Text, q.Sets, q.Dir, tell), nil
	case "zip":
		content, err := zipped(q.Dir)
		if err != nil {
			return map[string]string{"error": err.Error()}, nil
		}
		return nil, content
	}
	return map[string]string{"error": "there is no " + q.Op}, nil
}

// linked describes a claim.
func linked(c *rundir.Claim) map[string]any {
	of := map[string]any{"text": string(c.Scenario)}
	if c.Numerics > 0 {
		of["hash"], of["numerics"] = c.Hash.String(), c.Numerics
	}
	return of
}

// zipped returns a run directory as a zip file.
func zipped(dir string) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		to, err := w.Create(path.Join("run", name))
		if err != nil {
			return err
		}
		_, err = to.Write(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
