package parquet_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"fedsim/data"
	_ "fedsim/data/parquet"
)

// A program that imports the package reads parquet files with package data.
func Example() {
	type row struct {
		Task     string  `parquet:"client"`
		Label    float64 `parquet:"label"`
		Distance float64 `parquet:"distance"`
	}
	dir, err := os.MkdirTemp("", "parquet")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	config := data.Defaults()
	config.Source, config.Path = data.SourceParquet, filepath.Join(dir, "walks.parquet")
	rows := []row{{"ann", 1, 0.5}, {"bob", -1, 2}, {"ann", -1, 1.5}, {"bob", 1, 0}}
	if err := parquet.WriteFile(config.Path, rows); err != nil {
		fmt.Println(err)
		return
	}
	split, err := data.Prepare(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, task := range split.Train.Clients {
		fmt.Println(task.Name, "has", task.X.Rows, "row for training")
	}
	// Output:
	// ann has 1 row for training
	// bob has 1 row for training
}
