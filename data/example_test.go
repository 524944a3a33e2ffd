package data_test

import (
	"fmt"

	"fedsim/data"
)

// A generated set of 20 tasks is split into training and test rows.
func Example() {
	split, err := data.Prepare(data.Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	train := split.Train
	fmt.Println(len(train.Clients), "tasks,", train.Features, "features")
	fmt.Println(train.Rows(), "rows for training,", split.Test.Rows(), "for testing")

	device := train.Open(0)
	defer device.Close()
	fmt.Printf("device 0: %d rows, label %+g first\n", device.Client.X.Rows, device.Client.Y[0])
	// Output:
	// 20 tasks, 40 features
	// 2400 rows for training, 807 for testing
	// device 0: 127 rows, label -1 first
}
