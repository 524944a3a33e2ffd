package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// namings are the constants of a package for the activities of a device in an attempt. A function or
// table that names two of them must name all, but for those listed with a reason.
var namings = []struct {
	folder    string
	constants []string
	except    map[string]string // by function
}{
	{"clients", []string{"Downlink", "Compute", "Uplink", "Waiting"}, map[string]string{
		"(*Ledger).Note":      "waiting has no bytes and no FLOPs",
		"(*energy).Power":     "waiting draws the power of an idle client",
		"(*population).State": "its fields are lengths that are known in advance",
		"(*joins).rested":     "a client that joins downloads and computes",
		"(*energy).transfer":  "transfers are one of two", "partOf": "whatever else a device does is waiting",
	}},
	{"internal/rooms/timeline", []string{"Download", "Compute", "Upload", "Poll"}, map[string]string{
		"(*Item).event": "waiting has no bytes and no FLOPs",
	}},
	{"plots", []string{"Downlink", "Compute", "Uplink", "Poll"}, nil},
}

// Whatever distinguishes activities of devices names all of them.
func TestActivitiesAreComplete(t *testing.T) {
	met := map[string]bool{}
	for _, pattern := range []string{"*/*.go", "*/*/*.go", "*/*/*/*.go"} {
		files := expect.Value(filepath.Glob(filepath.Join(root, pattern)))(t)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file := expect.Value(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
			for _, n := range namings {
				inside := strings.HasSuffix(filepath.ToSlash(filepath.Dir(name)), "/"+n.folder)
				for _, d := range file.Decls {
					missing := unnamed(d, n.constants, inside, path.Base(n.folder))
					switch of := functionName(d); {
					case len(missing) == 0 || len(missing) > len(n.constants)-2:
					case n.except[of] != "":
						met[of] = true
					default:
						t.Errorf("%s: %s names activities of %s, but not %v", name, of, n.folder, missing)
					}
				}
			}
		}
	}
	for _, n := range namings {
		for of := range n.except {
			expect.That(t, met[of], "%s needs no exception", of)
		}
	}
}

// unnamed returns the constants of a package that a declaration, inside of it or elsewhere, does
// not name.
func unnamed(d ast.Decl, constants []string, inside bool, of string) (missing []string) {
	named := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && !inside && x.Name == of {
				named[n.Sel.Name] = true
			}
			return false // its name is a method or a field
		case *ast.StructType:
			return false
		case *ast.Ident:
			if inside {
				named[n.Name] = true
			}
		}
		return true
	})
	for _, c := range constants {
		if !named[c] {
			missing = append(missing, c)
		}
	}
	return missing
}

// functionName returns the name of a function with its receiver.
func functionName(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	switch {
	case !ok:
		return "a declaration"
	case f.Recv == nil:
		return f.Name.Name
	default:
		return "(" + types.ExprString(f.Recv.List[0].Type) + ")." + f.Name.Name
	}
}
