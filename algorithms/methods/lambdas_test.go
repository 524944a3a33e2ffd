package methods

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// trained returns the models of clients after rounds of a method.
func trained(t *testing.T, name string, o algorithms.Options, p *mtl.Problem, c mtl.Coupling) [][]float64 {
	t.Helper()
	f, _ := algorithms.Lookup(name)
	a := expect.Value(f.Start(algorithms.Setup{Rows: p.RowCounts(), Shape: p.Shape, Problem: p, Coupling: c, Workers: 1,
		Seed: 1}, o))(t)
	for h := range 4 {
		expect.Value(a.Begin())(t)
		for k := range p.Clients() {
			a.Solve(request(k, h, algorithms.NoLimit, 0))
			a.Commit(k, 1)
		}
		expect.Value(a.End())(t)
	}
	m := a.Model()
	var models [][]float64
	for k := range p.Clients() {
		models = append(models, slices.Clone(m.Evaluated().Row(k)))
	}
	return models
}

// The model of a client under its own lambda has the bits of a run in which all have this lambda: the mean w of Ditto
// does not depend on lambda. pFedMe's does, so that its file names all clients.
func TestClientsHaveTheirOwnLambda(t *testing.T) {
	p, c := randomProblem(t, func(cfg *mtl.Config) { cfg.Loss = mtl.LossLogistic; untied(cfg) }, nil, 4, 7, 9, 5)
	file := filepath.Join(t.TempDir(), "lambdas.csv")
	write := func(text string) { expect.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	ditto, _ := algorithms.Lookup("ditto")
	options := func(lambda float64, file string) algorithms.Options {
		o := ditto.Options().(*dittoOptions)
		o.Lambda, o.LambdaFile = lambda, file
		return o
	}
	write("rows,client,lambda\n9,1,0.9\n5,\"2\",0\n")
	got := trained(t, "ditto", options(0.1, file), p, c)
	for k, lambda := range []float64{0.1, 0.9, 0} {
		want := trained(t, "ditto", options(lambda, ""), p, c)
		expect.That(t, slices.Equal(got[k], want[k]), "client %d has %v, want that of lambda = %g, %v", k, got[k],
			lambda, want[k])
	}
	pfedme, _ := algorithms.Lookup("pfedme")
	mine := pfedme.Options().(*pFedMeOptions)
	mine.Lambda = 3
	all := trained(t, "pfedme", mine, p, c)
	mine.Lambda, mine.LambdaFile = 9, file
	write("client,lambda\n0,3\n1,3\n2,3\n")
	same := trained(t, "pfedme", mine, p, c)
	expect.That(t, slices.EqualFunc(all, same, slices.Equal), "a file of equal lambdas differs")

	for text, want := range map[string]string{
		"client\n":                  "lambdas.csv:1: must have the columns client and lambda",
		"client,lambda\n0\n":        "lambdas.csv:2: must have as many fields",
		"client,lambda\n0,x\n":      `lambdas.csv:2: must have a number in the column lambda, not "x"`,
		"client,lambda\n0,-1\n":     "lambdas.csv:2: must have another lambda than -1: it must be in [0, 1e12]",
		"client,lambda\n7,1\n":      `lambdas.csv:2: must name clients of the data, which have no "7"`,
		"client,lambda\n0,1\n0,1\n": `lambdas.csv:3: must name client "0" once`,
	} {
		write(text)
		setup := algorithms.Setup{Rows: p.RowCounts(), Shape: p.Shape, Problem: p, Coupling: c, Workers: 1}
		_, err := ditto.Start(setup, options(0.1, file))
		expect.That(t, err != nil && strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""),
			strings.ReplaceAll(want, `"`, "")), "%q: the error is %v, want %s", text, err, want)
	}
}
