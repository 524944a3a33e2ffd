package mtl

import (
	"math"

	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
)

// LocalOptimum approaches the minimum G(da*) of a device's subproblem, and stops
// as soon as the accuracy suffices for a call. SDCA improves the dual variables best, whose
// duality gap bounds the distance to the minimum:
//
//	G(best) - gap <= G(da*) <= G(best),
//
// so that, with left = G(da) - G(best) and none = G(0) - G(best),
//
//	left/none <= theta <= (left + gap)/(none + gap)  for 0 <= left <= none.
//
// It ends when the gap is a 1e-10th of none, when a pass over all rows moves no row, or
// when rounding hides further progress.
//
// A subproblem with G(0) - G(da*) of at most a 1e-12th of its terms counts as solved by the
// initial dual variables: theta is then 0 for all dual variables.
//
// The results depend only on the subproblem and on the sequence of calls. The zero value is
// ready for Reset. It reuses its memory: later subproblems of the same size allocate
// nothing.
type LocalOptimum struct {
	Subproblem
	before, w []float64
	noise     float64 // differences of G up to this size are rounding

	best  []float64 // dual variables
	u     []float64 // w + curvature c X^T (best - before)
	z     []float64 // x_i . u of each row and output
	none  float64   // G(0) - G(best)
	gap   float64   // duality gap of best
	known bool      // best and the fields below are set

	ended   bool    // best cannot be improved
	batches int     // calls of improve
	passes  int     // over all rows, or over those that move
	lowest  float64 // gap when it had last halved
	mark    int     // passes made then

	order  Order
	last   []float64 // best before a pass
	moving []int32   // rows that the last pass over all moved
	diff   []float64 // of two u
	face   face
}

// Reset starts a subproblem at the device's dual variables before. It retains the slices until
// the next Reset.
func (o *LocalOptimum) Reset(s Subproblem, before, w []float64) {
	o.Subproblem, o.before, o.w, o.known = s, before, w, false
}

// Reached reports whether theta of the dual variables b is at most theta; u is
// w + curvature c X^T (b - before).
func (o *LocalOptimum) Reached(b, u []float64, theta float64) bool {
	if !o.known {
		o.start(b, u)
	}
	for {
		left := o.excess(b, u)
		switch {
		case o.none+o.gap <= o.noise, left+o.gap <= theta*(o.none+o.gap):
			return true
		case o.none > o.noise && left > theta*o.none:
			return false
		case o.exact():
			return o.none <= o.noise || left <= theta*o.none
		}
		o.improve(true)
	}
}

// Theta returns theta of the dual variables after.
func (o *LocalOptimum) Theta(after []float64) float64 {
	if !o.known {
		o.start(after, nil)
		if o.none < 0 {
			o.start(o.before, nil)
		}
	}
	for o.none+o.gap > o.noise && !o.exact() {
		o.improve(false)
	}
	u := append([]float64(nil), o.w...)
	o.addImage(u, after)
	left := o.excess(after, u)
	switch {
	case o.none <= o.noise:
		return 0
	case left > o.none && left-o.none <= o.noise/10:
		return 1
	default:
		return max(0, left/o.none)
	}
}

// exact reports whether best is the minimizer, up to rounding.
func (o *LocalOptimum) exact() bool { return o.ended || o.gap <= 1e-10*o.none }

// start begins at the dual variables b, minimized over those between their bounds if they are few. u is
// w + curvature c X^T (b - before); nil: none are minimized over.
func (o *LocalOptimum) start(b, u []float64) {
	o.best = append(o.best[:0], b...)
	if u != nil && o.face.choose(o.Subproblem, b, b) {
		o.face.minimize(o.best, u)
	}
	o.u, o.diff = append(o.u[:0], o.w...), append(o.diff[:0], o.w...)
	o.z = append(o.z[:0], b...)
	o.known, o.ended, o.batches, o.passes, o.mark, o.lowest = true, false, 0, 0, 0, math.Inf(1)
	o.measure()
	o.noise = 1e-12 * o.size()
}

// addImage adds curvature c X^T (b - before) to u.
func (o *LocalOptimum) addImage(u, b []float64) {
	task := o.open()
	defer task.Close()
	for i, bi := range b {
		if bi != o.before[i] {
			row, c := o.p.coordinate(i)
			task.X.Axpy(o.scaled*(bi-o.before[i]), row, o.p.block(u, c))
		}
	}
}

// measure sets u, z, none and gap to those of best. It recomputes u, because the
// rounding errors of many small steps accumulate in it.
func (o *LocalOptimum) measure() {
	copy(o.u, o.w)
	o.addImage(o.u, o.best)
	task := o.open()
	defer task.Close()
	if o.p.Outputs == 1 {
		o.p.dotsInOrder(&task.X, 0, o.u, o.z)
	}
	loss, sum := o.p.Loss, 0.0
	for i, b := range o.best {
		row, c := o.p.coordinate(i)
		if o.p.Outputs > 1 {
			o.z[i] = task.X.Dot(row, o.p.block(o.u, c))
		}
		z, y := o.z[i], o.p.Target(task.Y[row], c)
		sum += loss.Value(z, y) + loss.Conjugate(b, y) + float64(b*z)
	}
	o.gap = max(0, sum*o.p.Scale[o.k])
	o.none = o.excess(o.before, o.w)
	if o.gap <= o.lowest/2 {
		o.lowest, o.mark = o.gap, o.passes
	}
}

// size sums the magnitudes of the terms of the gap: rounding errors are relative to it.
func (o *LocalOptimum) size() float64 {
	y, loss, sum := o.p.Train.Clients[o.k].Y, o.p.Loss, 0.0
	for i, b := range o.best {
		row, c := o.p.coordinate(i)
		label := o.p.Target(y[row], c)
		sum += math.Abs(loss.Value(o.z[i], label)) + math.Abs(loss.Conjugate(b, label)) + math.Abs(b*o.z[i])
	}
	return sum * o.p.Scale[o.k]
}

// excess returns G(b) - G(best); u is w + curvature c X^T (b - before). Expanded
// around best it is a sum of terms none of which is negative at a minimizer,
//
//	c sum_i loss*(-b_i) - loss*(-best_i) + (b_i - best_i) z_i  +  curvature/2 |c X^T (b - best)|^2,
//
// and avoids the cancellation in a difference of two values.
func (o *LocalOptimum) excess(b, u []float64) float64 {
	y, loss, sum := o.p.Train.Clients[o.k].Y, o.p.Loss, 0.0
	for i, bi := range b {
		if best := o.best[i]; bi != best {
			row, c := o.p.coordinate(i)
			label := o.p.Target(y[row], c)
			sum += loss.Conjugate(bi, label) - loss.Conjugate(best, label) + float64((bi-best)*o.z[i])
		}
	}
	DeltaV(o.diff, u, o.u, o.curvature)
	return float64(sum*o.p.Scale[o.k]) + float64(0.5*o.curvature*kernel.Dot(o.diff, o.diff))
}

// improve makes a pass over all rows, then minimizes over those between their bounds, if they may be few
// (see face), or makes up to 63 passes over the rows that it moved: most
// dual variables stay at a bound. The number of passes grows, because each call needs
// another pass to measure the gap. A gap that does not halve during half of all passes is
// rounding. Whether theta is reached does not depend on how best improves, but the last bits of theta do.
func (o *LocalOptimum) improve(few bool) {
	const patience = 4096 // fewer passes do not show whether the gap has stopped
	n, passes := len(o.best)/o.p.Outputs, 1<<min(o.batches, 6)
	o.last = append(o.last[:0], o.best...)
	o.order.Reset(n, rng.New(0, rng.Reference, o.k, 2*o.batches))
	o.SDCA(o.best, o.u, &o.order, n)
	o.moving = o.p.moved(o.moving[:0], o.last, o.best)
	if few && o.face.choose(o.Subproblem, o.last, o.best) {
		o.face.minimize(o.best, o.u)
	} else {
		o.order.ResetTo(o.moving, rng.New(0, rng.Reference, o.k, 2*o.batches+1))
		o.SDCA(o.best, o.u, &o.order, (passes-1)*len(o.moving))
	}
	o.passes += passes
	o.batches++
	o.measure()
	o.ended = len(o.moving) == 0 || o.passes-o.mark > max(patience, o.passes/2)
}
