package config

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "rewrite keydocs.txt")

func TestKeyDocsAreUpToDate(t *testing.T) {
	got := commentsOfKeys(t, "..")
	if *update {
		filetest.Write(t, "keydocs.txt", got)
	}
	diff := cmp.Diff(string(filetest.Read(t, "keydocs.txt")), got)
	expect.That(t, diff == "", "keydocs.txt is out of date: run make generate (-file +comments):\n%s", diff)
}

// commentsOfKeys returns a line for each field of a struct under root that has a key and a comment. The
// documentation is the first paragraph of the comment.
func commentsOfKeys(t *testing.T, root string) string {
	var b strings.Builder
	expect.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, missing := os.Stat(filepath.Join(file, "go.mod")); d.IsDir() && file != root &&
			(missing == nil || d.Name() == "testdata") {
			return filepath.SkipDir // another module
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		source := filetest.Read(t, file)
		if !strings.Contains(string(source), "toml:") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			types, ok := decl.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				spec := spec.(*ast.TypeSpec)
				table, ok := spec.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, field := range table.Fields.List {
					if field.Tag == nil || len(field.Names) > 1 {
						continue
					}
					var named *ast.Ident // an embedded struct is named as its type
					if len(field.Names) == 1 {
						named = field.Names[0]
					} else if named, _ = field.Type.(*ast.Ident); named == nil {
						continue
					}
					tags, err := strconv.Unquote(field.Tag.Value)
					if err != nil {
						return err
					}
					tag, name := reflect.StructTag(tags), path.Join("fedsim", filepath.ToSlash(folder))+"."+
						spec.Name.Name+"."+named.Name
					if tag.Get("doc") != "" {
						t.Errorf("%s has a tag doc: in this module, a comment is the documentation of a key", name)
					}
					if key := tag.Get("toml"); key == "" || key == "-" || field.Doc == nil {
						continue
					}
					first, _, _ := strings.Cut(field.Doc.Text(), "\n\n")
					b.WriteString(name + " " + strings.Join(strings.Fields(first), " ") + "\n")
				}
			}
		}
		return nil
	}))
	return b.String()
}
