// Package kit is what variations of federated averaging share: one model for all clients, their local
// steps, and the mean of their changes. A method embeds GlobalModel and its options embed
// AverageOptions; Register adds the work of the local steps to its description. The methods of package
// methods are made of it, and so may be those of other modules:
//
//	type options struct{ kit.AverageOptions }
//
//	type method struct{ kit.GlobalModel }
//
//	// End adds half of the mean of the changes to the model.
//	func (m *method) End() (flops float64, err error) {
//		return m.Round.Apply(m.Weights(), 0.5) + m.Link.Take(), nil
//	}
//
// It must not know what package algorithms does not: time, devices' hardware, links, drops or deadlines.
package kit
