package methods

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// A graph of fedu that is not symmetric, has another size, or negative weights, and features that are not there, are
// refused in one line.
func TestWrongGraphsAndFeaturesAreRefused(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for text, want := range map[string]string{
		"0,1,0\n1,0,1\n0,1,0\n": "",
		"0,1\n1,0\n":            "1: the row has 2 numbers: it must have one for each of the 3 tasks",
		"0,1,0\n1,0,1\n":        " the graph has 2 rows: it must have one for each of the 3 tasks",
		"0,1,0\n0,0,1\n0,1,0\n": "2:1: the graph must be symmetric: this is 0, and 1 in row 1, column 2",
		"0,-1,0\n-1,0,1\n0,1,0\n": "must have weights of at least 0, and 0 of a client and itself: -1 in row 1, " +
			"column 2",
		"1,0,0\n0,0,1\n0,1,0\n": "must have weights of at least 0, and 0 of a client and itself: 1 in row 1, column 1",
	} {
		path := filetest.New(t, "graph.csv", text)
		f, _ := algorithms.Lookup("fedu")
		o := f.Options().(*fedUOptions)
		o.Graph = path
		_, err := f.New(algorithms.Setup{Problem: p, Coupling: c, Workers: 1}, o)
		prefix := "options.graph = \"" + path + "\": "
		if want != "" && want[:4] != "must" {
			prefix += "must be a symmetric matrix of 3 clients: " + path + ":"
		}
		if want == "" {
			expect.That(t, err == nil, "%q: %v", text, err)
		} else if err == nil || err.Error() != prefix+want {
			t.Errorf("%q: %v, want %s", text, err, prefix+want)
		}
	}
	f, _ := algorithms.Lookup("fedper")
	o := f.Options().(*fedPerOptions)
	o.Personal, o.Features = personalFeatures, []int{9}
	_, err := f.New(algorithms.Setup{Problem: p, Coupling: c, Workers: 1}, o)
	expect.That(t, err != nil && err.Error() == "options.features = 9: must be below 9, the number of features",
		"%v", err)
}
