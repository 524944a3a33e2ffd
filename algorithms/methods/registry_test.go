package methods

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

func TestRegistry(t *testing.T) {
	names := algorithms.Names()
	expect.That(t, slices.IsSorted(names), "%v are not in order", names)
	for _, name := range []string{"async-mocha", "cocoa", "fedadagrad", "fedadam", "fedasync", "fedavg", "fedavgm",
		"fedbuff", "fednova", "fedprox", "fedyogi", "mb-sdca", "mb-sgd", "mocha"} {
		expect.That(t, slices.Contains(names, name), "%s is not registered", name)
	}
	if _, ok := algorithms.Lookup("Mocha"); ok {
		t.Error("names are found in another case")
	}
	valid := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	for _, name := range names {
		f, ok := algorithms.Lookup(name)
		expect.That(t, ok && f.Name == name && f.Summary != "" && f.Reference != "" && valid.MatchString(name),
			"%s: %+v", name, f)
		o := f.Options()
		c := config.NewChecker()
		o.Validate(c)
		problems := c.Problems()
		expect.That(t, len(problems) == 0, "%s: its defaults are refused: %v", name, problems)
		expect.That(t, f.Options() != o || reflect.TypeOf(o).Elem().NumField() <= 0,
			"%s: two runs would share their options", name)
		for _, field := range config.Fields(o) {
			expect.That(t, field.Doc != "", "%s: option %s has no documentation", name, field.Key)
		}
	}
}

// Init functions register factories: a wrong one must panic.
func TestRegisterPanics(t *testing.T) {
	options := func() algorithms.Options { return &algorithms.MOCHAOptions{} }
	describe := func(algorithms.Options, mtl.Shape) algorithms.Description { return algorithms.Description{} }
	build := func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) { return nil, nil }
	for want, f := range map[string]algorithms.Factory{
		`algorithms: algorithm "mocha" is registered twice`: {Name: "mocha",
			Options: options, Describe: describe, New: build},
		`algorithms: algorithm "" needs a name, options, a description and a constructor`: {Options: options,
			Describe: describe, New: build},
		`algorithms: algorithm "x" needs a name, options, a description and a constructor`: {Name: "x",
			Describe: describe, New: build},
		`algorithms: algorithm "idle" needs a name, options, a description and a constructor`: {Name: "idle",
			Options: options, Describe: describe},
		`algorithms: algorithm "dark" needs a name, options, a description and a constructor`: {Name: "dark",
			Options: options, New: build},
	} {
		func() {
			defer func() {
				got := recover()
				expect.That(t, got == want, "panic %v, want %s", got, want)
			}()
			algorithms.Register(f)
		}()
		_, ok := algorithms.Lookup(f.Name)
		expect.That(t, !ok || f.Name == "mocha", "%q is registered", f.Name)
	}
}

func TestOptionsValidate(t *testing.T) {
	for _, c := range []struct {
		options algorithms.Options
		want    []string
	}{
		{&algorithms.CoCoAOptions{}, []string{
			"o.theta = 0: must be in (0, 1)", `o.stop = "": must be one of theta, certificate`,
			"o.check_every = 0: must be in (0, 1000]", "o.max_epochs = 0: must be in (0, 1e6]"}},
		{&algorithms.MbSDCAOptions{Batch: -1, Beta: 0.5},
			[]string{"o.batch = -1: must be positive, or \"fill\"", "o.beta = 0.5: must be in [1, batch]"}},
		{&algorithms.MbSDCAOptions{Batch: 4, Beta: 5}, []string{"o.beta = 5: must be in [1, batch]"}},
		{&algorithms.MbSDCAOptions{Batch: 0, Beta: 5}, nil},
		{&algorithms.MbSDCAOptions{Batch: 4, Beta: nan()}, []string{"o.beta = NaN: must be in [1, batch]"}},
		{&algorithms.MbSGDOptions{Batch: 1, Step: 0, Delay: 1e12}, nil},
		{&fedAvgOptions{byRowsOf(kit.LocalSGDOptions{Step: 1, L2: 2})}, []string{
			"o.step = 1: must be below 2/(l2 + mu) = 1: local steps would overshoot more each time"}},
		{&fedAvgOptions{byRowsOf(kit.LocalSGDOptions{Step: 1, L2: 1.99})}, nil},
		{&fedProxOptions{byRowsOf(kit.LocalSGDOptions{Step: 1, L2: 1}), 4}, []string{
			"o.step = 1: must be below 2/(l2 + mu) = 0.4: local steps would overshoot more each time"}},
		{
			&fedAvgOptions{kit.AverageOptions{LocalSGDOptions: byRowsOf(kit.LocalSGDOptions{Step: 1}).LocalSGDOptions,
				Weights: "size"}}, []string{`o.weights = "size": must be one of rows, equal`},
		},
		{&FedBuffOptions{AverageOptions: byRowsOf(kit.LocalSGDOptions{Step: 1, L2: 4}), MaxStaleness: -1}, []string{
			"o.step = 1: must be below 2/(l2 + mu) = 0.5: local steps would overshoot more each time",
			"o.buffer = 0: must be at least 1", "o.server_step = 0: must be in (0, 1e12]",
			"o.max_staleness = -1: must not be negative"}},
	} {
		check := config.NewChecker()
		c.options.Validate(check.In("o"))
		got := fmt.Sprint(check.Problems())
		expect.That(t, got == fmt.Sprint(c.want), "%+v:\ngot  %s\nwant %s", c.options, got, c.want)
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}
