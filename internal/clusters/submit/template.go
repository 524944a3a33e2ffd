package submit

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"fedsim/config"
	"fedsim/internal/quote"
)

//go:embed engines
var shipped embed.FS

// Engine is the template of what an engine is given.
type Engine struct {
	Name string // the file's name without its extension
	file string
	text *template.Template
}

// command is the block of a template with the submit command, an argument a line.
const command = "submit"

// Engines returns the names of the shipped engines, in alphabetical order.
func Engines() (names []string) {
	entries, err := shipped.ReadDir("engines")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, e := range entries {
		names = append(names, name(e.Name()))
	}
	return names
}

// name returns the name of the engine of a file.
func name(file string) string { return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) }

// Shipped returns a shipped engine, or nil.
func Shipped(engine string) *Engine {
	if !slices.Contains(Engines(), engine) {
		return nil
	}
	files, _ := fs.Glob(shipped, "engines/"+engine+".*") // no error: the pattern is valid
	text, err := shipped.ReadFile(files[0])
	if err != nil {
		panic(err) // it is embedded
	}
	e, err := parse(path.Base(files[0]), string(text))
	if err != nil {
		panic(err) // a test parses it
	}
	return e
}

// Load reads the engine of a file.
func Load(file string) (*Engine, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, string(text))
}

func parse(file, text string) (*Engine, error) {
	t, err := template.New("").Funcs(template.FuncMap{"quote": shell, "json": inJSON}).Parse(text)
	if err != nil {
		return nil, located(file, err)
	}
	if t.Lookup(command) == nil {
		return nil, fmt.Errorf("%s: has no block {{define %q}} with the submit command, an argument a line", file, command)
	}
	return &Engine{Name: name(file), file: file, text: t}, nil
}

// Render returns the script or manifest of a job, and the command that submits it with its
// arguments. The error is an *[OptionError] if the template takes an option by no means.
func (e *Engine) Render(j *Job) (text string, submit []string, err error) {
	var script, lines strings.Builder
	if err := e.text.Execute(&script, j); err != nil {
		return "", nil, located(e.file, err)
	}
	if err := e.text.ExecuteTemplate(&lines, command, j); err != nil {
		return "", nil, located(e.file, err)
	}
	if len(j.options) > 0 && !j.passed {
		option, _, _ := strings.Cut(j.options[0][0], "=")
		return "", nil, &OptionError{config.UnknownName("option of "+e.Name, option, option, j.known)}
	}
	for line := range strings.SplitSeq(lines.String(), "\n") {
		if line != "" {
			submit = append(submit, line)
		}
	}
	if len(submit) == 0 {
		return "", nil, fmt.Errorf("%s: the block %q is empty: it must have the submit command, an argument a line", e.file, command)
	}
	return script.String(), submit, nil
}

// OptionError reports an engine option that is not valid, or that the engine does not know.
type OptionError struct{ text string }

func (e *OptionError) Error() string { return e.text }

var (
	position = regexp.MustCompile(`^template: :(\d+)(:\d+)?: (executing ".*?" at )?`)
	unknown  = regexp.MustCompile(`can't evaluate field (\w+) in type \*submit\.Job`)
)

// located writes an error of a template as FILE:LINE: TEXT.
func located(file string, err error) error {
	if option, ok := errors.AsType[*OptionError](err); ok {
		return option
	}
	text := err.Error()
	m := position.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	text = text[len(m[0]):]
	if field := unknown.FindStringSubmatch(text); field != nil {
		text = config.UnknownName("field", "."+field[1], "."+field[1], fields())
	}
	return fmt.Errorf("%s:%s: %s", file, m[1], text)
}

// fields returns what a template can use, as .Name.
func fields() []string {
	t := reflect.TypeFor[*Job]()
	var names []string
	for _, f := range reflect.VisibleFields(t.Elem()) {
		if f.IsExported() {
			names = append(names, "."+f.Name)
		}
	}
	for i := range t.NumMethod() {
		names = append(names, "."+t.Method(i).Name)
	}
	slices.Sort(names)
	return names
}

// shell quotes a word, or the words of a list, for a POSIX shell.
func shell(words any) (string, error) {
	var list []string
	switch w := words.(type) {
	case string:
		list = []string{w}
	case []string:
		list = w
	default:
		return "", fmt.Errorf("quote takes a text or a list of texts, not %T", words)
	}
	return quote.Shell(list...), nil
}

// inJSON returns a value as JSON, which is YAML too.
func inJSON(x any) (string, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(x)
	return strings.TrimSuffix(b.String(), "\n"), err
}
