package compress_test

import (
	"fmt"

	"fedsim/internal/rooms/compress"
)

// A message with the two largest of eight values. Code replaces the vector by the
// receiver's.
func Example() {
	options := compress.Defaults().DownOptions
	options.K.Count = 2
	codec := compress.New(&options, compress.TopK, 8, false)
	update := []float64{0.1, -3, 0.2, 0, 0.4, 2, -0.3, 0.1}
	bytes := codec.Code(update, compress.Stream{})
	fmt.Println(bytes, "bytes:", update)
	// Output: 17 bytes: [0 -3 0 0 0 2 0 0]
}
