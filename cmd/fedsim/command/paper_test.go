package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared is the set of names of a package: x, T.Method, T.Field.
type declared map[string]bool

// parsePackage returns the declarations of the package in a folder of the repository,
// including tests. Sentences are the tests in its files paper*_test.go.
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

// add adds the names of a declaration.
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

// receiver returns the name of the receiver type of a method.
func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// explained are the packages with names on the pages on the paper.
var explained = []string{"algorithms", "algorithms/methods", "data", "data/formats", "devices", "experiment", "federation", "federation/learning", "mtl", "network", "experiment/scenario", "internal/rooms/theory"}

// TestPaperPages compares docs/paper.md and docs/theory.md with the code. Each package.Name
// and each file on them exists, and a test is named with its package. docs/paper.md names
// each test of a sentence and those of the theorems.
func TestPaperPages(t *testing.T) {
	page := read(t, "docs/paper.md")
	all := map[string]declared{}
	for _, name := range explained {
		names, sentences := parsePackage(t, name)
		all[path.Base(name)] = names
		for test := range names {
			if strings.HasPrefix(test, "TestTheorem") {
				sentences = append(sentences, test)
			}
		}
		for _, test := range sentences {
			if !strings.Contains(page, "`"+path.Base(name)+"."+test+"`") {
				t.Errorf("docs/paper.md does not have the test %s.%s", name, test)
			}
		}
	}
	all["command"], _ = parsePackage(t, "cmd/fedsim/command")
	if found := namesExist(t, "docs/paper.md", page, all); found < 200 {
		t.Errorf("only %d names were found on docs/paper.md", found)
	}
	namesExist(t, "docs/theory.md", read(t, "docs/theory.md"), all)
}

// namesExist checks the names on a page and returns the number of package.Names.
func namesExist(t *testing.T, path, page string, all map[string]declared) (found int) {
	t.Helper()
	for _, m := range regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z0-9_.]*)`").FindAllStringSubmatch(page, -1) {
		found++
		if names, ok := all[m[1]]; !ok || !names[m[2]] {
			t.Errorf("%s names %s.%s, which does not exist", path, m[1], m[2])
		}
	}
	for _, m := range regexp.MustCompile("(?:`([a-z]+)\\.)?\\b(Test[A-Z]\\w*)").FindAllStringSubmatch(page, -1) {
		if m[1] == "" {
			t.Errorf("%s names the test %s without its package", path, m[2])
		}
	}
	for _, m := range regexp.MustCompile("`(scenarios/[a-z0-9-]+\\.toml)`|\\]\\(([a-z./]+\\.(?:md|go))\\)").FindAllStringSubmatch(page, -1) {
		file := m[1]
		if file == "" {
			file = filepath.Join("docs", m[2])
		}
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("%s points to %s: %v", path, file, err)
		}
	}
	return found
}
