package command

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// The compiler for arm64 fuses every shape of x*y + z that the compilers for other
// architectures fuse, and more (cmd/compile/internal/ssa/_gen/*.rules, useFMA).
var fusedOn = flag.String("fused", "", "architectures that TestNoFusedInstructions compiles for; empty: skip")

// TestNoFusedInstructions checks that results have the same bits on every platform. Go may
// compute x*y + z with one rounding, if the processor has an instruction for it, unless the
// product is converted: float64(x*y) + z (Go specification, "Floating-point operators").
// The test reads the compiler's listing of each package.
func TestNoFusedInstructions(t *testing.T) {
	if *fusedOn == "" {
		t.Skip("compiles the module for another architecture: make check runs it")
	}
	top := expect.Value(filepath.Abs(root))(t)
	for _, arch := range strings.Split(*fusedOn, ",") {
		t.Run(arch, func(t *testing.T) {
			for _, f := range fusedInstructions(t, top, arch) {
				t.Errorf("%s:%d: %s rounds a product and a sum at once, other platforms round both: "+
					"write float64(x*y) + z.\n"+
					"The product may be in a function that is inlined here, or a division by a power of two: "+
					"convert it there.",
					f.file, f.line, f.instruction)
			}
		})
	}
}

func TestFusedInstructionsAreFound(t *testing.T) {
	listing := "# fedsim/mtl\n" +
		"\t0x0118 00280 (/src/mtl/a.go:50)\tFMADDD\tF3, F5, F2, F3\n" +
		"\t0x0118 00280 (/src/mtl/a.go:50)\tFMADDD\tF3, F5, F2, F3\n" +
		"\t0x0118 00284 (/src/mtl/a.go:51)\tFMULD\tF3, F5, F2\n" +
		"\t0x011c 00288 (/src/mtl/b.go:7)\tFNMSUBS\tF3, F5, F2, F3\n" +
		"\t0x0120 00292 (/src/plots/c.go:7)\tFMSUBD\tF3, F5, F2, F3\n" +
		"\t0x0124 00296 (/mod/gonum/d.go:7)\tFMADDD\tF3, F5, F2, F3\n" +
		"\t0x0128 00300 (/src/mtl/a.go:9)\tVFMADD231SD\tX3, X5, X2\n"
	want := []fused{{"mtl/a.go", 9, "VFMADD231SD"}, {"mtl/a.go", 50, "FMADDD"}, {"mtl/b.go", 7, "FNMSUBS"}}
	got := fusedIn([]byte(listing), "/src")
	expect.That(t, slices.Equal(got, want), "found %v, want %v", got, want)
}

// fused is an instruction that multiplies and adds with one rounding.
type fused struct {
	file        string // relative to the module
	line        int
	instruction string
}

// listingFlag makes the compiler list the instructions of the module.
const listingFlag = "-gcflags=fedsim/...=-S"

// fusedInstructions compiles the module for an architecture, "amd64" meaning the
// level of it that has such instructions, and returns them without those that the
// source asks for with math.FMA.
func fusedInstructions(t *testing.T, top, arch string) []fused {
	build := exec.Command("go", "build", "-trimpath=false", listingFlag, "./...")
	build.Dir = top
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "GOAMD64=v3", "CGO_ENABLED=0")
	listing, err := build.CombinedOutput()
	expect.Must(t, err == nil, "building for %s: %v\n%.2000s", arch, err, listing)
	expect.Must(t, bytes.Contains(listing, []byte("mtl/subproblem.go")),
		"the compiler listed no instructions of mtl/subproblem.go for %s:\n%.2000s", arch, listing)
	return slices.DeleteFunc(fusedIn(listing, top), func(f fused) bool {
		source := filetest.Read(t, filepath.Join(top, f.file))
		return strings.Contains(strings.Split(string(source), "\n")[f.line-1], "math.FMA(")
	})
}

// promised reports whether results of a file below the module have the same bits on every
// platform: the coordinates of figures are no results, and fits to measured logs, with gonum's
// statistics, agree to 1e-9.
func promised(file string) bool {
	for _, folder := range []string{"plots", "internal/rooms/measure/calibration",
		"internal/rooms/measure/prediction", "internal/tools/nnls"} { // which calibration alone uses
		if strings.HasPrefix(file, folder+"/") {
			return false
		}
	}
	return true
}

var fusedLine = regexp.MustCompile(`\((\S+\.go):(\d+)\)\t(V?FN?M(?:ADD|SUB)\w*)\t`)

// fusedIn returns the fused instructions in a listing of the files below top, each once.
// It omits files without the promise of equal bits.
func fusedIn(listing []byte, top string) (found []fused) {
	lines := bufio.NewScanner(bytes.NewReader(listing))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte("MADD")) && !bytes.Contains(lines.Bytes(), []byte("MSUB")) {
			continue // most lines, without the slow match
		}
		m := fusedLine.FindSubmatch(lines.Bytes())
		if m == nil {
			continue
		}
		file, inside := strings.CutPrefix(string(m[1]), top+"/")
		if !inside || !promised(file) {
			continue
		}
		line, err := strconv.Atoi(string(m[2]))
		if err != nil {
			panic(fmt.Sprintf("a line number of digits: %v", err))
		}
		found = append(found, fused{file, line, string(m[3])})
	}
	slices.SortFunc(found, func(a, b fused) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	})
	return slices.Compact(found)
}

// exact names what may be taken from packages whose other functions have other bits on
// some platforms: functions that round nothing, or as IEEE 754 says, constants, and
// types that hold numbers.
var exact = map[string]string{
	"math": "Abs Ceil Copysign FMA Float32bits Float32frombits Float64bits Float64frombits Floor Frexp Inf" +
		" IsInf IsNaN Ldexp Max Min Mod Modf NaN Nextafter Nextafter32 Pow10 Round RoundToEven Signbit Sqrt Trunc" +
		" Ln10 Ln2 Log2E MaxFloat32 MaxFloat64 MaxInt MaxInt32 MaxInt64 MaxUint16 MaxUint32 MaxUint8 MaxUint64 Pi " +
		"SmallestNonzeroFloat64 Sqrt2",
	"mat":    "Dense NewDense NewSymDense SymDense Trace",
	"stat":   "-",
	"floats": "-",
	"blas64": "-",
}

// TestNumbersComeFromPortableFunctions holds the module, but for its figures, to what
// has the same bits on every platform.
func TestNumbersComeFromPortableFunctions(t *testing.T) {
	expect.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil && path != root || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		case !promised(strings.TrimPrefix(filepath.ToSlash(path), root+"/")):
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				of, ok := s.X.(*ast.Ident)
				if ok && exact[of.Name] != "" && ast.IsExported(s.Sel.Name) &&
					!slices.Contains(strings.Fields(exact[of.Name]), s.Sel.Name) {
					t.Errorf("%s: %s.%s has other bits on some platforms: use internal/tools/elementary or "+
						"internal/tools/linalg", files.Position(s.Pos()), of.Name, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	}))
}
