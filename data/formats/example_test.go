package formats_test

import (
	"fmt"
	"os"
	"path/filepath"

	"fedsim/data"
	_ "fedsim/data/formats"
)

// A program that imports the package reads files of LIBSVM by the keys of [data].
func Example() {
	dir, err := os.MkdirTemp("", "formats")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cfg := data.Defaults()
	cfg.Source, cfg.Path = data.SourceLIBSVM, filepath.Join(dir, "walks.txt")
	rows := "+1 qid:ann 1:0.5 2:1\n-1 qid:ann 2:3\n+1 qid:bob 1:2\n-1 qid:bob 1:1 2:1\n"
	if err := os.WriteFile(cfg.Path, []byte(rows), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	set, err := data.Load(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range set.Clients {
		fmt.Println(c.Name, c.Y, c.X.Row(0))
	}
	// Output:
	// ann [1 -1] [0.5 1]
	// bob [1 -1] [2 0]
}
