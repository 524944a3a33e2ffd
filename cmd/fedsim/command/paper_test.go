package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared holds the names of a package: x, T.Method, T.Field.
type declared map[string]bool

// parsePackage reads the declarations of the package in a folder of the
// repository, its tests among them; sentences are the tests of its paper*_test.go.
func parsePackage(t *testing.T, folder string) (names declared, sentences []string) {
	t.Helper()
	names = declared{}
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		bySentence := strings.HasPrefix(base, "paper") && strings.HasSuffix(base, "_test.go")
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d.Recv.List[0].Type) + "." + name
				}
				names[name] = true
				if bySentence && strings.HasPrefix(name, "Test") {
					sentences = append(sentences, name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					names.add(spec)
				}
			}
		}
	}
	return names, sentences
}

// add notes what a declaration declares.
func (names declared) add(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names[name.Name] = true
		}
	case *ast.TypeSpec:
		names[spec.Name.Name] = true
		var fields *ast.FieldList
		switch of := spec.Type.(type) {
		case *ast.StructType:
			fields = of.Fields
		case *ast.InterfaceType:
			fields = of.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				names[spec.Name.Name+"."+name.Name] = true
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// TestPaperPage holds docs/paper.md to the code: each package.Name on it exists,
// as do the files it names, and it has each test by sentence.
func TestPaperPage(t *testing.T) {
	page := read(t, "docs/paper.md")
	all := map[string]declared{}
	for _, name := range []string{"algorithms", "data", "devices", "experiment", "federation", "mtl", "network", "scenarios", "tables", "theory"} {
		names, sentences := parsePackage(t, name)
		all[name] = names
		for _, test := range sentences {
			if !strings.Contains(page, "`"+name+"."+test+"`") {
				t.Errorf("docs/paper.md does not have the test by sentence %s.%s", name, test)
			}
		}
	}
	found := 0
	for _, m := range regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z0-9_.]*)`").FindAllStringSubmatch(page, -1) {
		found++
		if names, ok := all[m[1]]; !ok || !names[m[2]] {
			t.Errorf("docs/paper.md names %s.%s, which does not exist", m[1], m[2])
		}
	}
	if found < 200 {
		t.Errorf("only %d names were found on the page", found)
	}
	for _, m := range regexp.MustCompile("`(scenarios/[a-z0-9-]+\\.toml)`|\\]\\(([a-z]+\\.md)\\)").FindAllStringSubmatch(page, -1) {
		path := m[1]
		if path == "" {
			path = "docs/" + m[2]
		}
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("docs/paper.md points to %s: %v", path, err)
		}
	}
}
