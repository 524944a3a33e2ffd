package data

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"fedsim/internal/tools/npy"
)

// Export writes a prepared split for other programs. write writes a file of a name:
//
//	train_x.npy  features of the training rows, client by client, float64
//	train_y.npy  their labels (-1 or +1), numbers of classes or targets
//	test_x.npy   features of the test rows, task by task
//	test_y.npy   their labels or targets
//	validation_x.npy, validation_y.npy
//	             likewise of the validation rows, where there are any
//	data.json    names, rows of each client and task, labels with the names of their
//	             classes, and the digest of the split
//
// The numbers have the bits that methods see.
func Export(split *Split, write func(name string, fill func(io.Writer) error) error) error {
	about := exportInfo{Digest: split.Digest(), Clients: len(split.Train.Clients), Features: split.Train.Features,
		Labels: split.Train.Labels()}
	for t := range split.Train.Clients {
		about.Rows = append(about.Rows, split.Train.Clients[t].X.Rows)
		about.TaskOf = append(about.TaskOf, split.Train.TaskOf(t))
		about.Names = append(about.Names, split.Train.Clients[t].Name)
	}
	for t := range split.Test.Clients {
		about.TestRows = append(about.TestRows, split.Test.Clients[t].X.Rows)
	}
	if split.Validation != nil {
		for t := range split.Validation.Clients {
			about.ValidationRows = append(about.ValidationRows, split.Validation.Clients[t].X.Rows)
		}
	}
	names := []string{"train", "test", "validation"}
	for p, part := range split.Parts() {
		err := errors.Join(
			write(names[p]+"_x.npy", func(w io.Writer) error { return part.writeNumbers(w, true) }),
			write(names[p]+"_y.npy", func(w io.Writer) error { return part.writeNumbers(w, false) }))
		if err != nil {
			return err
		}
	}
	return write("data.json", func(w io.Writer) error {
		text, err := json.MarshalIndent(about, "", " ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", text)
		return err
	})
}

// writeNumbers writes the features, or the targets, as an array of NumPy.
func (s *Set) writeNumbers(w io.Writer, features bool) error {
	head := npy.Head(s.Rows())
	if features {
		head = npy.Head(s.Rows(), s.Features)
	}
	out := bufio.NewWriter(w)
	_, err := out.Write(head)
	space, bytes := make([]float64, s.Features), make([]byte, 0, 8*max(1, s.Features))
	for t := range s.Clients {
		task := s.Open(t)
		for i := range task.X.Rows {
			values := task.Y[i : i+1]
			if features {
				values = task.X.Values(i, space)
			}
			bytes = bytes[:0]
			for _, x := range values {
				bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(x))
			}
			if err == nil {
				_, err = out.Write(bytes)
			}
		}
		task.Close()
	}
	return errors.Join(err, out.Flush())
}
