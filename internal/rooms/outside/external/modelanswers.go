package external

import (
	"errors"
	"fmt"
	"math"

	"fedsim/mtl"
)

// sumOfShares is how far from 1 the sum of probabilities may be: single precision rounds.
const sumOfShares = 1e-3

// checkRow reports a target, or predictions beside a finite loss, that no row has.
func checkRow(row []float64, real bool) error {
	loss, y, predicted := row[0], row[1], row[2:]
	sum, least := 0.0, math.Inf(1)
	for _, x := range predicted {
		sum += x
		least = min(least, x)
	}
	finite := !math.IsNaN(loss) && !math.IsInf(loss, 0)
	switch {
	case real && (math.IsNaN(y) || math.IsInf(y, 0)):
		return fmt.Errorf("target %g: must be a finite number", y)
	case real && (finite && (math.IsNaN(sum) || math.IsInf(sum, 0)) || len(predicted) != 1):
		return fmt.Errorf("predictions %v: must be a finite number", predicted)
	case real || !finite:
		return nil
	case len(predicted) == 1 && y != 1 && y != -1:
		return fmt.Errorf("target %g: must be -1 or 1, as there is one prediction", y)
	case len(predicted) > 1 && (y != math.Trunc(y) || !(y >= 0 && y < float64(len(predicted)))):
		return fmt.Errorf("target %g: must be a class in [0, %d]", y, len(predicted)-1)
	case !(least >= 0 && sum <= 1+sumOfShares) || len(predicted) > 1 && sum < 1-sumOfShares:
		return fmt.Errorf("predictions %v: must be probabilities: of the classes, or of the label 1", predicted)
	}
	return nil
}

// take writes the measures of elements with so many rows each.
func (me *measures) take(elements, rows []int32, about *modelHello, real bool, into []mtl.Measure) error {
	type list struct {
		name string
		of   int
	}
	lists := []list{{"rows", len(me.rows)}, {"losses", len(me.losses)}, {"errors", len(me.errors)}}
	if about.squares {
		lists = append(lists, list{"squared_losses", len(me.squares)})
	}
	for j, m := range about.metrics {
		lists = append(lists, list{"values of metrics." + m.Name, len(me.own[j])})
	}
	for _, list := range lists {
		if list.of != len(elements) {
			return fmt.Errorf("answers with %d %s: must be %d, one for each client", list.of, list.name, len(elements))
		}
	}
	for i, k := range elements {
		if me.rows[i] != int(rows[k]) {
			return fmt.Errorf("answers with the measures of %d rows of client %d: must be those of all its %d rows",
				me.rows[i], k, rows[k])
		}
		if err := me.check(i, real); err != nil {
			return fmt.Errorf("client %d: answers with %w", k, err)
		}
		into[i] = mtl.Measure{Rows: me.rows[i], Loss: me.losses[i], Misses: me.errors[i], Square: math.NaN()}
		if about.squares {
			into[i].Square = me.squares[i]
		}
		for j, m := range about.metrics {
			x := me.own[j][i]
			if math.IsNaN(x) && !math.IsNaN(me.losses[i]) {
				return fmt.Errorf("answers with metrics.%s = null of client %d: must be a number, as its loss is one",
					m.Name, k)
			}
			if err := checkShare(m, real, x); err != nil {
				return fmt.Errorf("client %d: answers with metrics.%w", k, err)
			}
			into[i].Own = append(into[i].Own, x)
		}
	}
	return nil
}

// check reports measures in place i that no model has.
func (me *measures) check(i int, real bool) error {
	loss, wrong := me.losses[i], me.errors[i]
	switch {
	case real && wrong < 0:
		return fmt.Errorf("errors = %g: must not be negative: the sum of squared errors", wrong)
	case !real && math.IsNaN(wrong) && !math.IsNaN(loss):
		return errors.New("errors = null: must be a number, as the loss is one")
	case !real && (wrong < 0 || wrong > float64(me.rows[i]) || wrong != math.Trunc(wrong) && !math.IsNaN(wrong)):
		return fmt.Errorf("errors = %g: must be a whole number in [0, %d]: how many predictions are wrong, "+
			"not their share; squared errors need data.target = \"real\"", wrong, me.rows[i])
	case me.squares != nil && me.squares[i] < float64(loss*loss)*0.999: // single precision rounds
		return fmt.Errorf("squared_losses = %g: must be at least the square of the loss, %g", me.squares[i],
			float64(loss*loss))
	}
	return nil
}
