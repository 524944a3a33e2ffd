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

	"fedsim/internal/tools/expect"
)

// declared is the set of names of a package: x, T.Method, T.Field.
type declared map[string]bool

// parsePackage returns the declarations of the package in a folder of the repository,
// including tests. Sentences are the tests in its files paper*_test.go.
func parsePackage(t *testing.T, folder string) (names declared, sentences []string) {
	t.Helper()
	names = declared{}
	files := expect.Value(filepath.Glob(filepath.Join(root, folder, "*.go")))(t)
	for _, file := range files {
		parsed := expect.Value(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
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
func (d declared) add(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			d[name.Name] = true
		}
	case *ast.TypeSpec:
		d[spec.Name.Name] = true
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
				d[spec.Name.Name+"."+name.Name] = true
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
var explained = []string{"algorithms", "algorithms/methods", "data", "data/formats", "devices", "experiment",
	"federation", "federation/learning", "mtl", "network", "experiment/scenario", "internal/rooms/theory"}

// TestPaperPages compares docs/paper.md and docs/results.md with the code. Each package.Name
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
			expect.That(t, strings.Contains(page, "`"+path.Base(name)+"."+test+"`"),
				"docs/paper.md does not have the test %s.%s", name, test)
		}
	}
	all["command"], _ = parsePackage(t, "cmd/fedsim/command")
	found := namesExist(t, "docs/paper.md", page, all)
	expect.That(t, found >= 200, "only %d names were found on docs/paper.md", found)
	namesExist(t, "docs/results.md", section(t, "docs/results.md", "## Theorems"), all)
}

// namesExist checks the names on a page and returns the number of package.Names.
func namesExist(t *testing.T, path, page string, all map[string]declared) (found int) {
	t.Helper()
	for _, m := range regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z0-9_.]*)`").FindAllStringSubmatch(page, -1) {
		found++
		names, ok := all[m[1]]
		expect.That(t, ok && names[m[2]], "%s names %s.%s, which does not exist", path, m[1], m[2])
	}
	for _, m := range regexp.MustCompile("(?:`([a-z]+)\\.)?\\b(Test[A-Z]\\w*)").FindAllStringSubmatch(page, -1) {
		expect.That(t, m[1] != "", "%s names the test %s without its package", path, m[2])
	}
	for _, m := range regexp.MustCompile("`(scenarios/[a-z0-9-]+\\.toml)`|\\]\\(([a-z./]+\\.(?:md|go))\\)").
		FindAllStringSubmatch(page, -1) {
		file := m[1]
		if file == "" {
			file = filepath.Join("docs", m[2])
		}
		_, err := os.Stat(filepath.Join(root, file))
		expect.That(t, err == nil, "%s points to %s: %v", path, file, err)
	}
	return found
}
