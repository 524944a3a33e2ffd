package submit

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"fedsim/config"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
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
	text, err := input.ReadText(file, config.MaxSource)
	if err != nil {
		return nil, err
	}
	return parse(file, string(text))
}

func parse(file, text string) (*Engine, error) {
	t, err := template.New(file).Funcs(template.FuncMap{"quote": shell, "json": inJSON}).Parse(text)
	if err != nil {
		return nil, err
	}
	if t.Lookup(command) == nil {
		return nil,
			fmt.Errorf("%s: has no block {{define %q}} with the submit command, an argument a line", file, command)
	}
	return &Engine{Name: name(file), file: file, text: t}, nil
}

// Render returns the script or manifest of a job, and the command that submits it with its
// arguments. The error is an *[OptionError] if the template takes an option by no means.
func (e *Engine) Render(j *Job) (text string, submit []string, err error) {
	var script, lines strings.Builder
	err = e.text.Execute(&script, j)
	if err == nil {
		err = e.text.ExecuteTemplate(&lines, command, j)
	}
	if option, ok := errors.AsType[*OptionError](err); ok {
		return "", nil, option
	}
	if err != nil {
		return "", nil, err
	}
	if len(j.options) > 0 && !j.passed {
		option, _, _ := strings.Cut(j.options[0][0], "=")
		return "", nil,
			&OptionError{
				fmt.Sprintf("unknown option of %s %s: known are %s", e.Name, option, strings.Join(j.known, ", ")),
			}
	}
	for line := range strings.SplitSeq(lines.String(), "\n") {
		if line != "" {
			submit = append(submit, line)
		}
	}
	if len(submit) == 0 {
		return "", nil,
			fmt.Errorf("%s: the block %q is empty: it must have the submit command, an argument a line", e.file,
				command)
	}
	return script.String(), submit, nil
}

// OptionError reports an engine option that is not valid, or that the engine does not know.
type OptionError struct{ text string }

func (e *OptionError) Error() string { return e.text }

// shell quotes a word, or the words of a list, for a POSIX shell.
func shell(words any) (string, error) {
	switch w := words.(type) {
	case string:
		return quote.Shell(w), nil
	case []string:
		return quote.Shell(w...), nil
	default:
		return "", fmt.Errorf("quote takes a text or a list of texts, not %T", words)
	}
}

// inJSON returns a value as JSON, which is YAML too.
func inJSON(x any) (string, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(x)
	return strings.TrimSuffix(b.String(), "\n"), err
}
