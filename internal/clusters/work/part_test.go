package work

import (
	"slices"
	"strings"
	"testing"
)

func environment(text string) func(string) string {
	return func(name string) string {
		for pair := range strings.FieldsSeq(text) {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestParsePart(t *testing.T) {
	for _, x := range []struct {
		text, env string
		want      Part
		err       string
	}{
		{text: "", want: Part{}},
		{text: "3/12", want: Part{3, 12}},
		{text: "3/12", env: "SLURM_ARRAY_TASK_ID=5", want: Part{3, 12}},
		{text: "3,7,9/12", env: "SLURM_ARRAY_TASK_ID=2", want: Part{7, 12}},
		{text: "3,7,9/12", env: "HQ_TASK_ID=3", want: Part{9, 12}},
		{text: "3,7,9/12", env: "JOB_COMPLETION_INDEX=0", want: Part{3, 12}},
		{text: "", env: "SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_MAX=6 SLURM_ARRAY_TASK_COUNT=5", want: Part{3, 5}},
		{text: "", env: "HQ_TASK_ID=4", want: Part{}},
		{text: "", env: "JOB_COMPLETION_INDEX=4", want: Part{}},

		{text: "3", err: "must be i/n"},
		{text: "3/x", err: "must be i/n"},
		{text: "0/0", err: "must be i/n"},
		{text: "0/4", err: `"0" must be a whole number from 1 to 4`},
		{text: "5/4", err: `"5" must be a whole number from 1 to 4`},
		{text: "1,x/4", err: `"x" must be a whole number from 1 to 4`},
		{text: "1,1/4", env: "HQ_TASK_ID=1", err: "part 1 must be there once"},
		{text: "1,2/4", err: "several parts need a task of an array each"},
		{text: "1,2/4", env: "HQ_TASK_ID=3", err: "HQ_TASK_ID=3 must be from 1 to 2"},
		{text: "1,2/4", env: "JOB_COMPLETION_INDEX=2", err: "JOB_COMPLETION_INDEX=2 must be from 0 to 1"},
		{text: "", env: "SLURM_ARRAY_TASK_ID=4", err: "SLURM_ARRAY_TASK_MIN=: must be a whole number"},
		{text: "", env: "SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_MAX=6", err: "must be from 2 to 6"},
		{text: "", env: "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_MAX=6 SLURM_ARRAY_TASK_COUNT=2", err: "with gaps"},
	} {
		got, err := ParsePart(x.text, environment(x.env))
		if x.err == "" && (err != nil || got != x.want) || x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err)) {
			t.Errorf("ParsePart(%q) with %q = %v, %v, want %v, %q", x.text, x.env, got, err, x.want, x.err)
		}
	}
}

func TestDivide(t *testing.T) {
	for _, x := range []struct {
		times []float64
		n     int
		want  []int
	}{
		{nil, 3, []int{}},
		{[]float64{5, 4, 3, 3}, 2, []int{0, 1, 1, 0}},
		{[]float64{1, 1, 1, 9}, 2, []int{1, 1, 1, 0}},
		{[]float64{0, 0, 0, 0}, 2, []int{0, 1, 0, 1}}, // unknown times: by count
		{[]float64{1, 2}, 1_000_000_000, []int{1, 0}},
	} {
		if got := divide(x.times, x.n); !slices.Equal(got, x.want) {
			t.Errorf("divide(%v, %d) = %v, want %v", x.times, x.n, got, x.want)
		}
	}
}
