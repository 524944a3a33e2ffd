package mtl

import (
	"fmt"

	"fedsim/config"
)

// Shape is the size of the model of one task: a linear model, a network with hidden layers
// (docs/methods.md), or an external model.
type Shape struct {
	Features int    // d of a row
	Outputs  int    // scores of a row: the number of classes, or 1 for the labels -1 and +1 and for real targets
	Hidden   Widths // none: the model is linear, or external
	Given    Sizes  // of an external model; the zero value: the model is another
}

// linear reports whether the model is linear.
func (s Shape) linear() bool { return s.Hidden == (Widths{}) && s.Given.Values == 0 }

// layers returns the layers; nil for a linear model, which has no biases.
func (s Shape) layers() []layer {
	if s.Hidden == (Widths{}) {
		return nil
	}
	var layers []layer
	in, at := s.Features, 0
	for _, out := range append(s.Hidden.list(), s.Outputs) {
		layers = append(layers, layer{in, out, at})
		at += out * (in + 1)
		in = out
	}
	return layers
}

// Values returns the number of values of the model of a task. A linear model has d weights for
// each output: w[c*d:(c+1)*d] are those of output c. A network has biases, too.
func (s Shape) Values() int {
	if s.Given.Values > 0 {
		return s.Given.Values
	}
	if s.Hidden == (Widths{}) {
		return s.Outputs * s.Features
	}
	layers := s.layers()
	last := layers[len(layers)-1]
	return last.at + last.out*(last.in+1)
}

// RowFLOPs returns the cost of the gradient of the loss of one row. A weight takes part in a
// sum of the scores and in one of the gradient: two operations each, and two more in a layer
// above the first, which passes the gradient on. A bias takes one and one.
func (s Shape) RowFLOPs() float64 {
	if s.Given.Values > 0 {
		return s.Given.RowFLOPs
	}
	if s.Hidden == (Widths{}) {
		return float64(4 * float64(s.Values()))
	}
	flops := 0.0
	for i, l := range s.layers() {
		each := 4.0
		if i > 0 {
			each = 6
		}
		flops += float64(each*float64(l.in)*float64(l.out)) + float64(2*float64(l.out))
	}
	return flops
}

// ScoreFLOPs returns the cost of the scores of one row; a third of RowFLOPs of an external model.
func (s Shape) ScoreFLOPs() float64 {
	if s.Given.Values > 0 {
		return s.Given.RowFLOPs / 3
	}
	if s.linear() {
		return float64(2 * float64(s.Values()))
	}
	flops := 0.0
	for _, l := range s.layers() {
		flops += float64(2*float64(l.in)*float64(l.out)) + float64(l.out)
	}
	return flops
}

// Head returns where the values of the last layer of a network begin, and the cost of its gradient for one row; all
// values and no cost of a model without layers.
func (s Shape) Head() (from int, flops float64) {
	layers := s.layers()
	if layers == nil {
		return s.Values(), 0
	}
	l := layers[len(layers)-1]
	return l.at, float64(2*float64(l.in)*float64(l.out)) + float64(l.out)
}

// RowTraffic returns how many values of memory the gradient of the loss of one row reads and
// writes beside the model and its gradient. A layer reads its inputs twice, for the scores and
// for the gradient, writes its outputs, and reads their derivatives. One above the first writes
// the derivatives of its inputs, too.
func (s Shape) RowTraffic() float64 {
	if s.Given.Values > 0 {
		return s.Given.RowTraffic
	}
	if s.Hidden == (Widths{}) {
		return 2 * float64(s.Features+s.Outputs)
	}
	values := 0
	for i, l := range s.layers() {
		if values += 2 * (l.in + l.out); i > 0 {
			values += l.in
		}
	}
	return float64(values)
}

// BatchTraffic returns how many values of memory the gradient of a mini-batch reads and writes
// beside those of its rows: it reads the model, writes the gradient, and reads the weights above
// the first layer again.
func (s Shape) BatchTraffic() float64 {
	values := 2 * s.Values()
	for i, l := range s.layers() {
		if i > 0 {
			values += l.in * l.out
		}
	}
	return float64(values)
}

// StepTraffic returns how many values of memory a visit of a row by SDCA reads and writes: for
// each output the row and the weights for the dot product, both and the new weights for the axpy,
// and the dual variable twice. Every coordinate counts as one that changes.
func (s Shape) StepTraffic() float64 { return float64(s.Outputs * (5*s.Features + 2)) }

// StepFLOPs returns the most that a step costs, a visit of a row: of a linear model a step of
// SDCA, which has a coordinate step for each output, otherwise the gradient of the row.
func (s Shape) StepFLOPs() float64 {
	if !s.linear() {
		return s.RowFLOPs()
	}
	return float64(float64(s.Outputs) * StepFLOPs(s.Features))
}

// SDCAFLOPs returns the cost of steps of SDCA in which moved coordinates changed. A
// coordinate that does not change needs no axpy.
func (s Shape) SDCAFLOPs(steps, moved int) float64 {
	d := float64(s.Features)
	return float64(float64(moved)*StepFLOPs(s.Features)) + float64(float64(steps*s.Outputs-moved)*(2*d+8))
}

// StepFLOPs returns the cost of one coordinate step on d features: the dot product,
// the axpy and eight operations for the step itself.
func StepFLOPs(d int) float64 { return float64(4*float64(d)) + 8 }

// Widths are the widths of one or two hidden layers, a list in TOML. The zero value has none.
type Widths [2]int

// TypeTOML returns the type.
func (w *Widths) TypeTOML() string { return "list of integers" }

// DecodeTOML takes a list of at most two integers.
func (w *Widths) DecodeTOML(n *config.Node, key string) config.Errors {
	var list []int
	problems := config.Decode(n, key, &list)
	if len(list) > len(w) {
		problems.Add(n.Key, fmt.Sprintf("%s: has %d hidden layers, must have at most %d", key, len(list), len(w)))
	}
	*w = Widths{}
	copy(w[:], list)
	return problems
}

// MarshalTOML returns the list on one line.
func (w Widths) MarshalTOML() ([]byte, error) { return []byte(config.Literal(w.list())), nil }

func (w Widths) list() []int {
	list := []int{}
	for _, width := range w {
		if width != 0 {
			list = append(list, width)
		}
	}
	return list
}
