package scenarios

import (
	"os"
	"path/filepath"

	"fedsim/config"
)

// besideScenario replaces each data.path that exists relative to the scenario by a path
// relative to the working directory: in [data], in experiments and in the sets of tables.
// So the recorded scenario of a run finds the files, too. It runs before overrides, whose
// paths are relative to the working directory already.
func besideScenario(node *config.Node, file string, at config.Path) {
	switch {
	case node.IsList():
		for _, item := range node.Items() {
			besideScenario(item, file, at)
		}
	case node.IsTable():
		for _, key := range node.Keys() {
			if path, err := config.ParsePath(key); err == nil { // Assignments reports other keys
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
