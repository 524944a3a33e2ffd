package algorithms

import (
	"fedsim/internal/kernel"
	"fedsim/mtl"
)

// beside divides the rows that the protocol allows between the local steps and other work of
// so many rows. The other work gets what the local steps leave, or half.
func (o *LocalSGDOptions) beside(rows, wanted, allowed int) (other, local int) {
	other = min(wanted, max(allowed-o.steps(rows, allowed), allowed/2))
	return other, o.steps(rows, allowed-other)
}

// slopedFLOPs is stepFLOPs with a linear term in the objective, 2 operations a value.
func (o *LocalSGDOptions) slopedFLOPs(shape mtl.Shape) float64 {
	if o.Batch == 0 {
		return o.stepFLOPs(shape)
	}
	return o.stepFLOPs(shape) + float64(2*float64(shape.Values())/float64(o.Batch))
}

// batches returns how many mini-batches a device's local steps on so many rows take.
func (l *localSGD) batches(device, steps int) int {
	rows := l.problem.Train.Tasks[device].X.Rows
	size := l.opts.Batch
	if size == 0 {
		size = rows
	}
	of := func(rows int) int { return (rows + size - 1) / size }
	return steps/rows*of(rows) + of(steps%rows)
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
	clear(into)
	s.gradient.Add(task.Task, drawn, w, 1/float64(count), into)
	kernel.Axpy(l.opts.L2, w, into)
}
