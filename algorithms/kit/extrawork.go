package kit

import (
	"fedsim/algorithms"
	"fedsim/internal/tools/kernel"
)

// Beside divides the rows that the protocol allows between the local steps and other work of
// so many rows. The other work gets the rows that the local steps leave, or half of all.
func (o *LocalSGDOptions) Beside(rows, wanted, allowed int) (other, local int) {
	other = min(wanted, max(allowed-o.Steps(rows, allowed), allowed/2))
	return other, o.Steps(rows, allowed-other)
}

// Gradient sets into to the gradient of F_k at w on so many rows of the device: all in their
// order, or the first that the device's local steps draw.
func (l *LocalSGD) Gradient(r algorithms.Request, w []float64, count int, into []float64) {
	task := l.Problem.Train.Open(r.Device)
	defer task.Close()
	s := &l.Scratch[r.Worker]
	s.order.Reset(task.X.Rows, r.Stream)
	drawn := s.order.InOrder(count)
	if l.Options.Shuffle && count < task.X.Rows {
		s.order.Reset(task.X.Rows, r.Stream)
		drawn = s.order.Take(count)
	}
	s.Gradient.For(r.Device, r.Branch(2))
	s.Gradient.Sum(task.Client, drawn, w, 1/float64(count), into)
	kernel.Axpy(l.Options.L2, w, into)
}
