package algorithms

import "fedsim/mtl"

// local is MOCHA on tasks that are not coupled, which needs no server: each
// client learns a model from its rows alone and sends nothing. A run evaluates the models, as
// those of other methods, at no cost.
type local struct{ mocha }

var _ Stateful = (*local)(nil)

func init() {
	Register(Factory{
		Name:    "local",
		Summary: "every client learns alone and sends nothing; tasks are not coupled",
		Reference: "Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, " +
			"section 5.1 (local models); local work as mocha",
		Options: func() Options { return &MOCHAOptions{Epochs: 1} },
		Describe: func(o Options, shape mtl.Shape) Description {
			d := o.(*MOCHAOptions).Describe(shape)
			d.Needs.Alone, d.Messages = true, Messages{None: true}
			return d
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			return &local{mocha{Dual: NewDual(s), opts: *o.(*MOCHAOptions)}}, nil
		},
	})
}

// Begin opens a round. The server sends nothing.
func (l *local) Begin() (Sent, error) {
	_, err := l.mocha.Begin()
	return Sent{}, err
}

// Solve is that of MOCHA without a message.
func (l *local) Solve(r Request) Response {
	response := l.mocha.Solve(r)
	response.Values = 0
	return response
}

// End updates the models, which the clients have: the server does nothing.
func (l *local) End() (float64, error) {
	_, err := l.mocha.End()
	return 0, err
}
