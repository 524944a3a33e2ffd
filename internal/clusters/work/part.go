package work

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/clusters/plan"
)

// Part is one of the equal shares that the groups of a plan are divided into. The zero value is
// all groups.
type Part struct {
	Index int // from 1
	Of    int
}

func (p Part) String() string {
	if p.Of == 0 {
		return "all parts"
	}
	return fmt.Sprintf("part %d/%d", p.Index, p.Of)
}

// indexVariables hold the index of a task of an array, by scheduler.
var indexVariables = []struct {
	name  string
	first int // index of the first task
}{{"SLURM_ARRAY_TASK_ID", 1}, {"HQ_TASK_ID", 1}, {"JOB_COMPLETION_INDEX", 0}}

// ParsePart reads "i/n". In "3,7,9/12" the index of the task in its array, counted from 1, picks
// one: env returns the variables that schedulers set. Without a text, an array of Slurm has as
// many parts as tasks; elsewhere the part is all groups.
func ParsePart(text string, env func(string) string) (Part, error) {
	if text == "" {
		return slurmPart(env)
	}
	list, of, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(of)
	if !ok || err != nil || n < 1 {
		return Part{}, fmt.Errorf("--part %s: must be i/n, as in 3/12, or several parts for an array of tasks, as in 3,7,9/12", text)
	}
	var parts []int
	for word := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(word)
		if err != nil || i < 1 || i > n {
			return Part{}, fmt.Errorf("--part %s: %q must be a whole number from 1 to %d", text, word, n)
		}
		if slices.Contains(parts, i) {
			return Part{}, fmt.Errorf("--part %s: part %d must be there once", text, i)
		}
		parts = append(parts, i)
	}
	if len(parts) == 1 {
		return Part{parts[0], n}, nil
	}
	for _, v := range indexVariables {
		value := env(v.name)
		if value == "" {
			continue
		}
		i, err := strconv.Atoi(value)
		if i -= v.first; err != nil || i < 0 || i >= len(parts) {
			return Part{}, fmt.Errorf("--part %s: %s=%s must be from %d to %d, a task for each part", text, v.name, value, v.first, v.first+len(parts)-1)
		}
		return Part{parts[i], n}, nil
	}
	return Part{}, fmt.Errorf("--part %s: several parts need a task of an array each: none of SLURM_ARRAY_TASK_ID, HQ_TASK_ID, JOB_COMPLETION_INDEX is set", text)
}

// slurmPart returns the part of a task of an array of Slurm, all groups elsewhere.
func slurmPart(env func(string) string) (Part, error) {
	if env("SLURM_ARRAY_TASK_ID") == "" {
		return Part{}, nil
	}
	var values [3]int
	for i, name := range []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX"} {
		var err error
		if values[i], err = strconv.Atoi(env(name)); err != nil {
			return Part{}, fmt.Errorf("%s=%s: must be a whole number: give --part i/n", name, env(name))
		}
	}
	id, first, last := values[0], values[1], values[2]
	if id < first || id > last {
		return Part{}, fmt.Errorf("SLURM_ARRAY_TASK_ID=%d: must be from %d to %d: give --part i/n", id, first, last)
	}
	p := Part{id - first + 1, last - first + 1}
	if n := env("SLURM_ARRAY_TASK_COUNT"); n != "" && n != strconv.Itoa(p.Of) {
		return Part{}, fmt.Errorf("SLURM_ARRAY_TASK_COUNT=%s: an array from %d to %d with gaps leaves parts out: give --part LIST/n", n, first, last)
	}
	return p, nil
}

// Parts returns the part of each group of a plan that is divided into n parts, from 0.
func Parts(p *plan.Plan, n int) []int {
	var times []float64
	for _, g := range p.Groups() {
		times = append(times, g.TimeS)
	}
	return divide(times, n)
}

// divide divides groups with estimated times into n parts of about equal time and returns the
// part of each group, from 0. Longer groups choose first, each the part with the least time, then
// the fewest groups.
func divide(times []float64, n int) []int {
	n = min(n, len(times)) // the other parts are empty
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case times[a] > times[b]:
			return -1
		case times[a] < times[b]:
			return 1
		}
		return 0
	})
	load, count, part := make([]float64, n), make([]int, n), make([]int, len(times))
	for _, i := range order {
		least := 0
		for p := range load {
			if load[p] < load[least] || load[p] == load[least] && count[p] < count[least] {
				least = p
			}
		}
		part[i] = least
		load[least] += times[i]
		count[least]++
	}
	return part
}
