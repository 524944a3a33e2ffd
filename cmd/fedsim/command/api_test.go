package command

import (
	"bytes"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// Another module can name every type that the exported declarations of a package
// mention: a type of an internal package has an exported alias.
func TestExportedTypesCanBeNamed(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("go list: %v", err) // no go command
	}
	exports := map[string]string{}
	for line := range bytes.Lines(out) {
		path, file, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		exports[path] = file
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var public []*types.Package
	for path := range exports {
		if strings.HasPrefix(path, "fedsim/") && path != "fedsim/cmd/fedsim" && !internal(path) {
			p := expect.Value(load.Import(path))(t)
			public = append(public, p)
		}
	}
	expect.Must(t, len(public) >= 15, "%d packages are loaded", len(public))
	a := api{named: map[*types.TypeName]bool{}, seen: map[types.Type]bool{}}
	for _, p := range public {
		for _, name := range p.Scope().Names() {
			if o, ok := p.Scope().Lookup(name).(*types.TypeName); ok && o.Exported() && o.IsAlias() {
				if n, ok := types.Unalias(o.Type()).(*types.Named); ok {
					a.named[n.Obj()] = true
				}
			}
		}
	}
	for _, p := range public {
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				a.place = p.Path() + "." + name
				a.visit(o.Type())
			}
		}
	}
	slices.Sort(a.problems)
	for _, problem := range slices.Compact(a.problems) {
		t.Error(problem)
	}
}

func internal(path string) bool { return strings.HasPrefix(path, "fedsim/internal/") }

// api walks the types that packages export.
type api struct {
	named    map[*types.TypeName]bool // types that have an exported alias
	seen     map[types.Type]bool
	place    string
	problems []string
}

func (a *api) visit(t types.Type) {
	t = types.Unalias(t)
	if a.seen[t] {
		return
	}
	if n, ok := t.(*types.Named); ok {
		o := n.Origin().Obj()
		if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), "fedsim/") {
			return
		}
		if internal(o.Pkg().Path()) && !a.named[o] {
			a.problems = append(a.problems,
				a.place+" mentions "+o.Pkg().Path()+"."+o.Name()+", which has no exported alias")
			return
		}
	}
	a.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		for m := range t.Methods() {
			if m.Exported() && !internal(t.Obj().Pkg().Path()) {
				a.visit(m.Type())
			}
		}
		for i := range t.TypeArgs().Len() {
			a.visit(t.TypeArgs().At(i))
		}
		a.visit(t.Underlying())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				a.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				a.visit(m.Type())
			}
		}
	case *types.Signature:
		a.visit(t.Params())
		a.visit(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			a.visit(v.Type())
		}
	case *types.Map:
		a.visit(t.Key())
		a.visit(t.Elem())
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		a.visit(t.Elem())
	}
}
