package mtl

import "testing"

// Memory traffic by hand, in values. Linear, 784 features and 10 classes: a row is read twice, its
// scores are written and their derivatives read; a mini-batch reads the model of 7,840 values and
// writes as many; a step of SDCA takes 5 d + 2 values for each class. With hidden layers of 4 and
// 5 units on 3 features, for 2 classes, layers have 2 (3 + 4), 2 (4 + 5) + 4 and 2 (5 + 2) + 5
// values of a row. The model has 53 values, of which 4 x 5 + 5 x 2 weights are read again.
func TestTraffic(t *testing.T) {
	for _, c := range []struct {
		shape            Shape
		row, batch, step float64
	}{
		{Shape{Features: 784, Outputs: 10}, 2 * 794, 2 * 7840, 10 * (5*784 + 2)},
		{Shape{Features: 3, Outputs: 1}, 8, 6, 17},
		{Shape{Features: 784, Outputs: 10, Hidden: Widths{128}}, 2*912 + 2*138 + 128, 2*101770 + 1280,
			10 * (5*784 + 2)},
		{Shape{Features: 3, Outputs: 2, Hidden: Widths{4, 5}}, 14 + 22 + 19, 2*53 + 30, 2 * 17},
	} {
		if row, batch, step := c.shape.RowTraffic(), c.shape.BatchTraffic(), c.shape.StepTraffic(); row != c.row ||
			batch != c.batch || step != c.step {
			t.Errorf("%+v: %g values for a row, %g for a mini-batch, %g for a step; want %g, %g, %g", c.shape, row,
				batch, step, c.row, c.batch, c.step)
		}
	}
}
