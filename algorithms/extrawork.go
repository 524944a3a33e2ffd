package algorithms

import "fedsim/internal/tools/kernel"

// beside divides the rows that the protocol allows between the local steps and other work of
// so many rows. The other work gets the rows that the local steps leave, or half of all.
func (o *LocalSGDOptions) beside(rows, wanted, allowed int) (other, local int) {
	other = min(wanted, max(allowed-o.steps(rows, allowed), allowed/2))
	return other, o.steps(rows, allowed-other)
}

// gradient sets into to the gradient of F_k at w on so many rows of the device: all in their
// order, or the first that the device's local steps draw.
func (l *localSGD) gradient(r Request, w []float64, count int, into []float64) {
	task := l.problem.Train.Open(r.Device)
	defer task.Close()
	s := &l.scratch[r.Worker]
	s.order.Reset(task.X.Rows, r.Stream)
	drawn := s.order.InOrder(count)
	if l.opts.Shuffle && count < task.X.Rows {
		s.order.Reset(task.X.Rows, r.Stream)
		drawn = s.order.Take(count)
	}
	s.gradient.For(r.Device, r.branch(2))
	s.gradient.Sum(task.Client, drawn, w, 1/float64(count), into)
	kernel.Axpy(l.opts.L2, w, into)
}
