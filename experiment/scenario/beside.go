package scenario

import (
	"io/fs"
	"os"
	"path/filepath"

	"fedsim/config"
)

// besideScenario replaces each data.path and fleet.name that is a file relative to
// the scenario by a path relative to the working directory: in [data], in experiments and in the
// sets of tables. It does the same to files in the command of a method or of a model, and to the
// graph of a method.
// So the recorded scenario of a run finds the files, too. It runs before overrides, whose
// paths are relative to the working directory already.
func besideScenario(node *config.Node, file string, at config.Path) {
	switch {
	case len(at) >= 2 && at[len(at)-2] == "program" && at[len(at)-1] == "command":
		for i, item := range node.Items() {
			besideFile(item, file, i == 0)
		}
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
	case len(at) >= 2 && at[len(at)-2] == "data" && at[len(at)-1] == "path",
		len(at) >= 2 && at[len(at)-2] == "fleet" && at[len(at)-1] == "name",
		len(at) >= 2 && at[len(at)-2] == "options" && at[len(at)-1] == "graph", at[len(at)-1] == "lambda_file":
		if path, info := beside(node, file); info != nil {
			node.SetText(path)
		}
	}
}

// beside returns the path of the file that a node names relative to the folder of the scenario; info is
// nil if there is no such file.
func beside(node *config.Node, file string) (path string, info fs.FileInfo) {
	path, ok := node.Value().(string)
	if !ok || path == "" || filepath.IsAbs(path) {
		return "", nil
	}
	path = filepath.Join(filepath.Dir(file), path)
	info, _ = os.Stat(path) // the file may be elsewhere
	return path, info
}

// besideFile replaces a part of a command by its path, if it names a file beside the
// scenario. A program keeps a folder in its path, without which it is searched in PATH.
func besideFile(node *config.Node, file string, program bool) {
	path, info := beside(node, file)
	if info == nil || !info.Mode().IsRegular() {
		return
	}
	if program && filepath.Base(path) == path {
		path = "." + string(filepath.Separator) + path
	}
	node.SetText(path)
}
