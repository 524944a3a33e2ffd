//go:build !js

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fedsim/internal/tools/filelock"
	"fedsim/scenarios"
)

//go:embed assets
var assets embed.FS

// tags and linkFlags make the program small: no parquet library, and of gonum/plot SVG alone.
const (
	tags      = "minimal,noparquet"
	linkFlags = "-s -w"
)

// first is the scenario on which the page opens.
const first = "quickstart-small"

// trimmed are modules of which the program links a part: for each file of Go, the text in place of its own, and whether
// there is any.
var trimmed = map[string]func(name, text string) (string, bool){
	// The fonts that gonum/plot links: those that figures do not have become the first that they have.
	fonts: func(name, text string) (string, bool) {
		folder := filepath.Dir(name)
		if folder == "." || folder == used || folder == "liberationsansbold" {
			return text, true
		}
		return fmt.Sprintf("package %s\n\nimport font %q\n\nvar TTF = font.TTF\n", folder, fonts+"/"+used), true
	},
	// Its texts in LaTeX, which have fonts of their own.
	"gonum.org/v1/plot": func(name, text string) (string, bool) {
		return text, name != filepath.Join("text", "latex.go")
	},
}

const (
	fonts = "codeberg.org/go-fonts/liberation"
	used  = "liberationsansregular"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fedsim-web FOLDER")
		os.Exit(2)
	}
	if err := build(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "fedsim-web:", err)
		os.Exit(1)
	}
}

// build writes the page and the file that has all of it to a folder.
func build(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	program := filepath.Join(folder, "fedsim.wasm")
	if err := compile(program); err != nil {
		return err
	}
	raw, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(raw)
	}
	if err = errors.Join(err, w.Close(), os.Remove(program)); err != nil {
		return err
	}
	files, err := pageFiles(packed.Bytes())
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// goCommand runs the go command in the root of the module and returns what it prints.
func goCommand(environment []string, arguments ...string) (string, error) {
	cmd := exec.Command("go", arguments...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// compile builds the program for js/wasm, with two of twelve fonts and without LaTeX.
func compile(program string) (err error) {
	root, err := goCommand(nil, "list", "-m", "-f", "{{.Dir}}", "fedsim")
	if err != nil {
		return err
	}
	// The paths of replaced modules are part of the program: these are the same in each checkout.
	const own = "./bin/.web"
	dir, replaced := filepath.Join(root, own), "\n"
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	lock := filelock.New(dir + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir), lock.Unlock()) }()
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, module := range slices.Sorted(maps.Keys(trimmed)) {
		source, err := goCommand(nil, "list", "-m", "-f", "{{.Dir}}", module)
		if err != nil {
			return err
		}
		if err := trim(source, filepath.Join(dir, path.Base(module)), trimmed[module]); err != nil {
			return err
		}
		replaced += fmt.Sprintf("replace %s => %s/%s\n", module, own, path.Base(module))
	}
	for name, more := range map[string]string{"go.mod": replaced, "go.sum": ""} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), append(text, more...), 0o666); err != nil {
			return err
		}
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	_, err = goCommand([]string{"GOOS=js", "GOARCH=wasm", "GOFLAGS=-trimpath"}, "build",
		"-modfile="+filepath.Join(dir, "go.mod"), "-mod=mod", "-tags="+tags, "-ldflags="+linkFlags, "-o", program,
		"fedsim/cmd/fedsim-web")
	return err
}

// trim copies the files of a module that are compiled, with a text of their own.
func trim(from, to string, text func(name, text string) (string, bool)) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		source, compiled := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"), false
		for _, extension := range []string{"go.mod", ".ttf"} {
			compiled = compiled || strings.HasSuffix(name, extension)
		}
		if e.IsDir() || !source && !compiled {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if source {
			own, there := text(name, string(content))
			if !there {
				return nil
			}
			content = []byte(own)
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o666)
	})
}

// pageFiles returns the files of the page, by name, given the packed program.
func pageFiles(program []byte) (map[string][]byte, error) {
	root, err := goCommand(nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	execJS, err := os.ReadFile(filepath.Join(root, "lib/wasm/wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	text := func(name string) string {
		b, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		return string(b)
	}
	list, err := suited()
	if err != nil {
		return nil, err
	}
	worker := text("memfs.js") + string(execJS) + text("worker.js")
	index := strings.Replace(text("index.html"), "{{gallery}}", list, 1)
	put := func(page, policy, home, docs string) string {
		return strings.NewReplacer("{{policy}}", policy, "{{home}}", home, "{{docs}}", docs).Replace(page)
	}
	const common = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src blob: data:; "
	files := map[string][]byte{
		"fedsim.wasm.gz": program,
		"worker.js":      []byte(worker),
		"index.html": []byte(put(index, common+"script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "+
			"connect-src 'self'; style-src 'self'", "../", `<a href="../scenarios/">What the keys mean</a>`)),
	}
	for _, name := range []string{"page.css", "editor.js", "chart.js", "page.js"} {
		files[name] = []byte(text(name))
	}
	sum := sha256.New()
	names := []string{"./", "chart.js", "editor.js", "fedsim.wasm.gz", "page.css", "page.js", "worker.js"}
	for _, name := range names {
		if name == "./" {
			name = "index.html"
		}
		sum.Write(files[name])
	}
	quoted, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	files["sw.js"] = []byte(strings.NewReplacer("{{version}}", hex.EncodeToString(sum.Sum(nil))[:16], "{{files}}",
		string(quoted)).Replace(text("sw.js")))

	one, scripts := single(index, worker, program, text)
	files["fedsim.html"] = []byte(put(one, common+"script-src "+strings.Join(scripts, " ")+
		" 'wasm-unsafe-eval' blob:; worker-src blob:; style-src "+hashOf(text("page.css")), "#", ""))
	return files, nil
}

// single returns the page as one file, with its scripts, styles and program in it, and the hashes of the scripts.
func single(index, worker string, program []byte, text func(name string) string) (page string, scripts []string) {
	inline := regexp.MustCompile(`<script src="([a-z]+\.js)"></script>|<link rel="stylesheet" href="page.css">`)
	page = inline.ReplaceAllStringFunc(index, func(tag string) string {
		found := inline.FindStringSubmatch(tag)
		if found[1] == "" {
			return "<style>" + text("page.css") + "</style>"
		}
		scripts = append(scripts, hashOf(text(found[1])))
		return "<script>" + text(found[1]) + "</script>"
	})
	data := func(id, text string) string {
		return `<script type="text/plain" id="` + id + `">` + text + "</script>\n"
	}
	page = strings.Replace(page, "<script>", data("worker", strings.ReplaceAll(worker, "</script", `<\/script`))+
		data("wasm", base64.StdEncoding.EncodeToString(program))+"<script>", 1)
	return page, scripts
}

// hashOf returns the hash of a text for a policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// suits is the longest time in seconds of a scenario of the gallery, in a page.
const suits = 45

// suited returns the shipped scenarios that suit a page, as JSON: the first is that on which it opens.
func suited() (string, error) {
	type entry struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Text        string `json:"text"`
	}
	var list []entry
	for _, info := range scenarios.Shipped() {
		source, _ := scenarios.Source(info.Name)
		_, c := check(context.Background(), string(source), nil)
		if len(c.Problems) > 0 || c.Refused != "" || c.Seconds > suits || c.Seconds == 0 {
			continue
		}
		e := entry{info.Name, info.Description, string(source)}
		if info.Name == first {
			list = append([]entry{e}, list...)
		} else {
			list = append(list, e)
		}
	}
	text, err := json.Marshal(list) // it writes < as an escape: no text ends the element
	return string(text), err
}
