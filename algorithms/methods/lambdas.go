package methods

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/mtl"
)

// lambdas are the strengths of the proximal terms of clients.
type lambdas struct {
	usual float64            // of clients that own does not name
	own   map[string]float64 // by the name of a client; never iterated over
}

// lambda returns that of a client.
func (l *lambdas) lambda(client *data.Client) float64 {
	if own, ok := l.own[client.Name]; ok {
		return own
	}
	return l.usual
}

// add adds the lambda of a client. It returns what must be otherwise.
func (l *lambdas) add(name, text string, known map[string]bool, with func(float64) config.Options) (want string) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Sprintf("must have a number in the column lambda, not %q", text)
	}
	check := config.NewChecker()
	if with(x).Validate(check); len(check.Problems()) > 0 {
		return fmt.Sprintf("must have another lambda than %g: it %s", x, check.Problems()[0].Want)
	}
	if !known[name] {
		return fmt.Sprintf("must name clients of the data, which have no %q", name)
	}
	if _, twice := l.own[name]; twice {
		return fmt.Sprintf("must name client %q once", name)
	}
	if l.own == nil {
		l.own = map[string]float64{}
	}
	l.own[name] = x
	return ""
}

// namesOf returns the names of the clients of a problem, new ones too.
func namesOf(p *mtl.Problem) map[string]bool {
	known := map[string]bool{}
	sets := []*data.Set{p.Train}
	if p.New != nil {
		sets = append(sets, p.New.Train)
	}
	for _, set := range sets {
		for k := range set.Clients {
			known[set.Clients[k].Name] = true
		}
	}
	return known
}

// maxLambdaFile is the largest number of bytes of a file of lambdas.
const maxLambdaFile = 1 << 30

// readLambdas reads the columns client and lambda of a csv file with a header, or none without a path. with returns
// the options with a lambda, whose validation it must pass. Errors are of type config.Problem.
func readLambdas(path string, usual float64, s algorithms.Setup, with func(lambda float64) config.Options) (lambdas,
	error) {
	l := lambdas{usual: usual}
	if path == "" {
		return l, nil
	}
	line := 0
	fail := func(want string, args ...any) (lambdas, error) {
		place := path
		if line > 0 {
			place = fmt.Sprintf("%s:%d", path, line)
		}
		return l, config.Problem{Key: "options.lambda_file", Value: place, Want: fmt.Sprintf(want, args...)}
	}
	f, err := input.OpenText(path, maxLambdaFile)
	if err != nil {
		return fail("must be a file that can be read: %v", err)
	}
	defer f.Close()
	known := namesOf(s.Problem)
	lines, client, value := bufio.NewScanner(f), -1, -1
	for lines.Scan() {
		line++
		fields := strings.Split(lines.Text(), ",")
		for i := range fields {
			fields[i] = strings.Trim(strings.TrimSpace(fields[i]), `"`)
		}
		if line == 1 {
			if client, value = slices.Index(fields, "client"), slices.Index(fields, "lambda"); client < 0 || value < 0 {
				return fail("must have the columns client and lambda")
			}
			continue
		}
		if lines.Text() == "" {
			continue
		}
		if max(client, value) >= len(fields) {
			return fail("must have as many fields as the header")
		}
		if want := l.add(fields[client], fields[value], known, with); want != "" {
			return fail("%s", want)
		}
	}
	if err := lines.Err(); err != nil {
		return fail("must be a file that can be read: %v", err)
	}
	return l, nil
}
