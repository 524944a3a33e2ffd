// Command api lists what programs may rely on: the exported API of the Go packages outside of
// internal, but for those that docs/extend.md does not promise, and the public names of pyfedsim with their parameters.
// It compares the lists with those of internal/develop/api, and fails on a difference:
//
//	go run ./api             compare; in the folder internal/develop, as "make check" does
//	go run ./api -update     add new lines to the lists
//	go run ./api -update -incompatible
//	                         also remove lines, before 1.0.0 and for a new major version
//
// A line is one thing that a program can use: a function with its signature, a field with its type,
// an interface with all of its methods. Every line of the list must stay; lines may be added. The
// lists are text, because reviewers read their difference, and because neither a release
// of Go nor of a library changes them: files of export data of the command apidiff have both
// faults. As there, a method that is added to an interface is incompatible, and a field that is
// added to a struct is not.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	update := flag.Bool("update", false, "add new lines to the lists")
	incompatible := flag.Bool("incompatible", false, "with -update: also remove lines")
	flag.Parse()
	failed := false
	for _, list := range []struct {
		file string
		of   func() ([]string, error)
	}{{"go.txt", goAPI}, {"python.txt", pythonAPI}} {
		now, err := list.of()
		if err == nil && now != nil {
			err = compare(filepath.Join("api", list.file), now, *update, *incompatible)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// compare compares the list in a file with that of this tree, and updates it where that is asked
// for and allowed.
func compare(file string, now []string, update, incompatible bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	then := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	without := func(list, other []string) (left []string) {
		for _, line := range list {
			if _, found := slices.BinarySearch(other, line); !found {
				left = append(left, line)
			}
		}
		return left
	}
	slices.Sort(then)
	gone, added := without(then, now), without(now, then)
	switch {
	case len(gone) > 0 && !(update && incompatible):
		return fmt.Errorf("internal/develop/%s: removed or changed, though programs may use it:\n\t%s\nadded:\n\t%s\n"+
			"restore the removed lines; only before 1.0.0 and for a new major version: make api INCOMPATIBLE=1",
			file, strings.Join(gone, "\n\t"), strings.Join(added, "\n\t"))
	case len(added) > 0 && !update:
		return fmt.Errorf("internal/develop/%s lacks new lines:\n\t%s\nadd them with: make api", file,
			strings.Join(added, "\n\t"))
	case !update:
		return nil
	}
	return os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o666)
}

// pythonAPI lists the public names of pyfedsim; nil if there is no Python.
func pythonAPI() ([]string, error) {
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if exec.Command(python, "-c", "").Run() != nil {
		fmt.Fprintf(os.Stderr, "the names of pyfedsim are not compared: there is no %s\n", python)
		return nil, nil
	}
	script := exec.Command(python, filepath.Join("api", "names.py"), filepath.Join("..", "..", "python", "src"))
	script.Stderr = os.Stderr
	out, err := script.Output()
	if err != nil {
		return nil, fmt.Errorf("internal/develop/api/names.py: %w", err)
	}
	return sorted(strings.Split(strings.TrimSpace(string(out)), "\n")), nil
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return slices.Compact(lines)
}

// goAPI lists the exported API of the packages that other modules can import.
func goAPI() ([]string, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}", "./...")
	list.Dir, list.Stderr = filepath.Join("..", ".."), os.Stderr
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	module := exec.Command("go", "list", "-m")
	module.Dir, module.Env = list.Dir, list.Env
	name, err := module.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	a := &api{module: strings.TrimSpace(string(name)) + "/"}
	page, err := os.ReadFile(filepath.Join(list.Dir, "docs", "extend.md"))
	if err != nil {
		return nil, err
	}
	var open []string // packages that are not promised
	for _, m := range regexp.MustCompile("(?m)^\\| `"+regexp.QuoteMeta(a.module)+"([a-z/]+)` \\|.*; not promised \\|$").
		FindAllStringSubmatch(string(page), -1) {
		open = append(open, m[1])
	}
	if len(open) == 0 {
		return nil, errors.New("docs/extend.md: has no packages that are not promised")
	}
	exports := map[string]string{}
	var public []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue // unsafe
		}
		exports[f[0]] = f[2]
		if path, own := strings.CutPrefix(f[0], a.module); own && !strings.HasPrefix(path, "internal/") &&
			f[1] != "main" && !slices.Contains(open, path) {
			public = append(public, f[0])
		}
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, path := range public {
		p, err := load.Import(path)
		if err != nil {
			return nil, err
		}
		a.list(p)
	}
	return sorted(a.lines), nil
}

// api collects lines. Names of packages of the module are without its path, so that a renamed
// module has the same list.
type api struct {
	module string
	of     *types.Package
	lines  []string
}

func (a *api) add(format string, arguments ...any) {
	a.lines = append(a.lines, strings.TrimPrefix(a.of.Path(), a.module)+": "+fmt.Sprintf(format, arguments...))
}

// name qualifies the names of other packages.
func (a *api) name(p *types.Package) string {
	if p == a.of {
		return ""
	}
	return strings.TrimPrefix(p.Path(), a.module)
}

func (a *api) text(t types.Type) string { return types.TypeString(t, a.name) }

func (a *api) list(p *types.Package) {
	a.of = p
	a.add("package %s", p.Name())
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			a.add("const %s %s", name, a.text(o.Type()))
		case *types.Var:
			a.add("var %s %s", name, a.text(o.Type()))
		case *types.Func:
			a.add("func %s%s", name, a.signature(o.Signature()))
		case *types.TypeName:
			a.listType(o)
		}
	}
}

// signature is the signature without the names of parameters, which callers do not use.
func (a *api) signature(s *types.Signature) string {
	var b bytes.Buffer
	unnamed := func(t *types.Tuple) *types.Tuple {
		var list []*types.Var
		for v := range t.Variables() {
			list = append(list, types.NewParam(token.NoPos, nil, "", v.Type()))
		}
		return types.NewTuple(list...)
	}
	var parameters []string
	for i := range s.TypeParams().Len() {
		p := s.TypeParams().At(i)
		parameters = append(parameters, p.Obj().Name()+" "+a.text(p.Constraint()))
	}
	if len(parameters) > 0 {
		fmt.Fprintf(&b, "[%s]", strings.Join(parameters, ", "))
	}
	types.WriteSignature(&b,
		types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic()), a.name)
	return b.String()
}

// listType lists a type with its fields and methods. An alias of a type of an internal package is
// the type's public name, so its fields and methods are listed, too.
func (a *api) listType(o *types.TypeName) {
	name := o.Name()
	named, ok := types.Unalias(o.Type()).(*types.Named)
	switch {
	case !ok:
		a.add("type %s = %s", name, a.text(types.Unalias(o.Type())))
		return
	case o.IsAlias() && !a.isInternal(named.Obj().Pkg()):
		a.add("type %s = %s", name, a.text(named))
		return
	}
	parameters := ""
	for i := range named.TypeParams().Len() {
		p := named.TypeParams().At(i)
		parameters += "[" + p.Obj().Name() + " " + a.text(p.Constraint()) + "]"
	}
	switch u := named.Underlying().(type) {
	case *types.Struct:
		a.add("type %s%s struct", name, parameters)
		a.fields(name, u)
	case *types.Interface:
		a.add("type %s%s %s", name, parameters, a.methods(u))
		return
	default:
		a.add("type %s%s %s", name, parameters, a.text(u))
	}
	for _, receiver := range []types.Type{named, types.NewPointer(named)} {
		star := ""
		if receiver != named {
			star = "*"
		}
		set, values := types.NewMethodSet(receiver), types.NewMethodSet(named)
		for m := range set.Methods() {
			if f := m.Obj().(*types.Func); f.Exported() && (star == "" || values.Lookup(f.Pkg(), f.Name()) == nil) {
				a.add("method (%s%s) %s%s", star, name, f.Name(), a.signature(m.Type().(*types.Signature)))
			}
		}
	}
}

// fields lists the exported fields of a struct, with those of embedded types that have no public
// name.
func (a *api) fields(of string, s *types.Struct) {
	for f := range s.Fields() {
		if f.Exported() {
			a.add("field %s.%s %s", of, f.Name(), a.text(f.Type()))
		}
		t := types.Unalias(f.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := t.(*types.Named); ok && f.Embedded() && (!f.Exported() || a.isInternal(n.Obj().Pkg())) {
			if inner, ok := n.Underlying().(*types.Struct); ok {
				a.fields(of, inner)
			}
		}
	}
}

// methods is an interface on one line: an implementation needs all of its methods.
func (a *api) methods(i *types.Interface) string {
	var list []string
	for m := range i.Methods() {
		if m.Exported() {
			list = append(list, m.Name()+a.signature(m.Signature()))
		} else {
			list = append(list, "unexported")
		}
	}
	return "interface { " + strings.Join(sorted(list), "; ") + " }"
}

func (a *api) isInternal(p *types.Package) bool {
	return p != nil && strings.HasPrefix(p.Path(), a.module+"internal/")
}
