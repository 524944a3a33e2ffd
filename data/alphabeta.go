package data

import (
	"fmt"
	"math"
	"strconv"

	"fedsim/config"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/rng"
)

// AlphaBetaConfig is the table [data.alpha_beta]: the set synthetic(alpha, beta) of Li et
// al., Federated Optimization in Heterogeneous Networks, MLSys 2020, section 5.1.
type AlphaBetaConfig struct {
	// number of clients
	Clients int `toml:"clients"`
	// number of features d, without the bias
	Features int `toml:"features"`
	// number of classes
	Classes int `toml:"classes"`
	// standard deviation over clients of the mean u_k of a client's model: how much models differ
	Alpha float64 `toml:"alpha"`
	// standard deviation over clients of the mean B_k of a client's features: how much features
	// differ
	Beta float64 `toml:"beta"`
	// one model for all clients, and features of mean 0: synthetic_iid; alpha and beta must be 0
	IID bool `toml:"iid"`
}

// defaultAlphaBeta returns the sizes of the paper.
func defaultAlphaBeta() AlphaBetaConfig {
	return AlphaBetaConfig{Clients: 30, Features: 60, Classes: 10}
}

func (a *AlphaBetaConfig) validate(check *config.Checker, target string) {
	at := check.In("alpha_beta")
	check.Require(target == TargetClasses, "target", target,
		fmt.Sprintf("must be %q when source is %q", TargetClasses, SourceAlphaBeta))
	at.Require(a.Clients >= 1 && a.Clients <= 100_000, "clients", a.Clients, "must be in [1, 100000]")
	at.Require(a.Features >= 1 && a.Features <= 10_000, "features", a.Features, "must be in [1, 10000]")
	at.Require(a.Classes >= 2 && a.Classes <= mostClasses, "classes", a.Classes,
		fmt.Sprintf("must be in [2, %d]", mostClasses))
	at.Require(a.Alpha >= 0 && a.Alpha <= 1e3, "alpha", a.Alpha, "must be in [0, 1000]")
	at.Require(a.Beta >= 0 && a.Beta <= 1e3, "beta", a.Beta, "must be in [0, 1000]")
	at.Require(!a.IID || a.Alpha == 0 && a.Beta == 0, "iid", a.IID,
		"must be false unless alpha and beta are 0: devices are equal with it")
}

// mostAlphaBetaRows limits the rows of a device. One in about two million draws exceeds it.
const mostAlphaBetaRows = 1_000_000

// make generates the set. Device k has n_k = floor(exp(4 + 2 N(0, 1))) + 50 rows, and with
// standard deviations as second arguments
//
//	u_k ~ N(0, alpha), W_k ~ N(u_k, 1), b_k ~ N(u_k, 1), B_k ~ N(0, beta), v_k ~ N(B_k, 1)
//	x_j ~ N(v_kj, j^-0.6), y = argmax_c (W_k^T x + b_k)_c
//
// after the authors' program, which takes alpha and beta for standard deviations where the
// paper calls them variances.
func (a *AlphaBetaConfig) make(seed uint64) *Set {
	set := &Set{Name: a.name(), Features: a.Features, Clients: make([]Client, a.Clients), Generated: true}
	for c := range a.Classes {
		set.Classes = append(set.Classes, strconv.Itoa(c))
	}
	deviation := make([]float64, a.Features)
	for j := range deviation {
		deviation[j] = elementary.Exp(float64(-0.6 * elementary.Log(float64(j+1))))
	}
	model := make([]float64, a.Classes*(a.Features+1)) // of a class, its weights and its bias
	normal := func(stream *rng.Stream, mean float64, into []float64) {
		for j := range into {
			into[j] = mean + stream.Normal()
		}
	}
	common := rng.New(seed, rng.Synthetic, -1, drawAlphaBeta)
	if a.IID {
		normal(&common, 0, model)
	}
	center := make([]float64, a.Features)
	for k := range set.Clients {
		stream := rng.New(seed, rng.Synthetic, k, drawAlphaBeta)
		rows := 50 + int(min(mostAlphaBetaRows, elementary.Exp(4+float64(2*stream.Normal()))))
		u, b := float64(a.Alpha*stream.Normal()), float64(a.Beta*stream.Normal())
		if !a.IID {
			normal(&stream, u, model)
			normal(&stream, b, center)
		}
		task := Client{Name: strconv.Itoa(k + 1), X: NewMatrix(rows, a.Features), Y: make([]float64, rows)}
		for i := range task.Y {
			x := task.X.Row(i)
			for j := range x {
				x[j] = center[j] + float64(deviation[j]*stream.Normal())
			}
			task.Y[i] = float64(a.class(model, x))
		}
		set.Clients[k] = task
	}
	return set
}

// class returns the class of the largest score, the first of equal ones.
func (a *AlphaBetaConfig) class(model, x []float64) (best int) {
	most := math.Inf(-1)
	for c := range a.Classes {
		of := model[c*(a.Features+1) : (c+1)*(a.Features+1)]
		score := of[a.Features]
		for j, v := range x {
			score += float64(of[j] * v)
		}
		if score > most {
			best, most = c, score
		}
	}
	return best
}

func (a *AlphaBetaConfig) name() string {
	if a.IID {
		return "synthetic_iid (generated)"
	}
	return fmt.Sprintf("synthetic(%g,%g) (generated)", a.Alpha, a.Beta)
}
