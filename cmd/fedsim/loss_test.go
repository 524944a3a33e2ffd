package main_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/cmd/fedsim/command"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// huber is a loss of real targets as a plugin has it: with the residual r = z - y it is r^2/2 up
// to delta, and delta |r| - delta^2/2 beyond.
type huber struct{ delta float64 }

func init() {
	mtl.RegisterLoss(mtl.LossFactory{
		Name: "huber", Formula: "(z - y)^2/2 if abs(z - y) <= g; else g abs(z - y) - g^2/2",
		Conjugate: "a^2/2 - ay", Domain: "abs(a) <= g",
		Reference: "Huber: Robust estimation of a location parameter, Annals of Mathematical Statistics 35, 1964",
		New:       func(cfg *mtl.Config) mtl.Loss { return huber{cfg.Smoothing} },
	})
}

func (h huber) Value(z, y float64) float64 {
	r := math.Abs(z - y)
	if r <= h.delta {
		return r * r / 2
	}
	return h.delta*r - h.delta*h.delta/2
}

func (h huber) Subgradient(z, y float64) float64 { return max(-h.delta, min(h.delta, z-y)) }

func (h huber) Conjugate(a, y float64) float64 {
	if math.Abs(a) > h.delta {
		return math.Inf(1)
	}
	return a * (a/2 - y)
}

func (h huber) Step(a, y, z, q float64) float64 {
	return max(-h.delta, min(h.delta, a+(y-z-a)/(1+q)))
}

func (h huber) Traits() mtl.LossTraits {
	return mtl.LossTraits{
		RealTargets: true, Smoothness: 1, Lipschitz: h.delta,
		Clipped: mtl.ClippedStep{Shrink: 1, Extra: 1, Low: -h.delta, High: h.delta},
	}
}

// slowHuber is huber without the steps of the kernel.
type slowHuber struct{ huber }

func init() {
	mtl.RegisterLoss(
		mtl.LossFactory{Name: "slow-huber",
			New: func(cfg *mtl.Config) mtl.Loss { return slowHuber{huber{cfg.Smoothing}} }})
}

func (h slowHuber) Traits() mtl.LossTraits {
	return mtl.LossTraits{RealTargets: true, Smoothness: 1, Lipschitz: h.delta}
}

// robust is a scenario for the loss.
const robust = `
name = "robust"

[data]
target = "real"
standardize = true

[data.synthetic]
clients = 6
features = 10

[problem]
loss_options.smoothing = 0.4
lambda = 3e-2
regularizer_options.warm_start = 3

[run]
rounds = 200

[methods.mocha]
options.epochs = 3
`

// fedsim is the program with the plugin.
func fedsim(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, messages bytes.Buffer
	exit = command.Main(args, &out, &messages)
	return exit, out.String(), messages.String()
}

// A loss that registers itself in one file outside package mtl is in the listings and in the
// messages, and dual methods and the central solver minimize it. Weak duality holds in every
// round.
func TestLossPlugin(t *testing.T) {
	if exit, list, _ := fedsim(t, "methods"); exit != 0 ||
		!strings.Contains(list, "huber              loss       (z - y)^2/2 if abs(z - y) <= g") {
		t.Errorf("fedsim methods exits with %d and lists %s", exit, list)
	}
	if _, about, _ := fedsim(t, "methods", "huber"); !strings.Contains(about,
		"is a^2/2 - ay, finite where: abs(a) <= g.\n  Huber: Robust") {
		t.Errorf("fedsim methods huber prints %s", about)
	}
	if exit, _, message := fedsim(t, "run", "deadline", "--set", "data.target=real", "--set",
		"problem.loss=hinge"); exit != 2 || !strings.Contains(message, "(absolute, huber, slow-huber, squared)") {
		t.Errorf("exit %d, %s", exit, message)
	}

	file := filetest.New(t, "robust.toml", robust)
	var files [2][]byte
	for i, loss := range []string{"huber", "slow-huber"} {
		dir := filepath.Join(t.TempDir(), loss)
		exit, _, message := fedsim(t, "run", file, "--out", dir, "--set", "problem.loss="+loss)
		expect.Must(t, exit == 0, "exit %d, %s", exit, message)
		exit, rounds, message := fedsim(t, "export", dir, "rounds")
		expect.Must(t, exit == 0, "exit %d, %s", exit, message)
		files[i] = bytes.ReplaceAll([]byte(rounds), []byte(loss), []byte("loss"))
	}
	expect.That(t, bytes.Equal(files[0], files[1]), "the steps of the kernel differ from those of Step")

	rows := expect.Value(csv.NewReader(bytes.NewReader(files[0])).ReadAll())(t)
	number := func(row []string, column string) float64 {
		return filetest.Number(t, row[slices.Index(rows[0], column)])
	}
	best := math.Inf(1)
	for _, row := range rows[1:] {
		if primal, dual, gap := number(row, "primal"), number(row, "dual"),
			number(row, "gap"); gap < -1e-9*math.Abs(primal) || math.Abs(gap-primal-dual) > 1e-9*math.Abs(primal) {
			t.Errorf("P = %g, D = %g, gap %g", primal, dual, gap)
		}
		distance := number(row, "suboptimality")
		expect.That(t, distance >= 0, "the sub-optimality is %g: the reference is not a lower bound", distance)
		best = min(best, distance)
	}
	expect.That(t, best <= 1e-3, "mocha gets to a sub-optimality of %g", best)
}
