package scenarios

import (
	"os"
	"path/filepath"

	"fedsim/config"
)

// besideScenario makes the data.path of files that lie beside the scenario lead there
// from the working directory: in [data], in what experiments set and sweep, and in the
// sets of tables. So the scenario that a run records finds them too. Overrides are
// not laid over the tree yet: their paths are those of the command line.
func besideScenario(node *config.Node, file string, at config.Path) {
	switch {
	case node.IsList():
		for _, item := range node.Items() {
			besideScenario(item, file, at)
		}
	case node.IsTable():
		for _, key := range node.Keys() {
			if path, err := config.ParsePath(key); err == nil { // of those that are none others complain
				besideScenario(node.Child(key), file, append(at[:len(at):len(at)], path...))
			}
		}
	case len(at) >= 2 && config.Path{"data", "path"}.Equal(at[len(at)-2:]):
		path, ok := node.Value().(string)
		if !ok || path == "" || filepath.IsAbs(path) {
			return
		}
		beside := filepath.Join(filepath.Dir(file), path)
		if _, err := os.Stat(beside); err == nil {
			node.SetText(beside)
		}
	}
}
