package command

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"github.com/spf13/pflag"

	"fedsim/results/rundir"
)

// profiles are the flags for profiling fedsim itself. Each is a file name, or empty
// for none. They do not change results.
type profiles struct{ cpu, memory, trace string }

func (p *profiles) add(flags *pflag.FlagSet) {
	flags.StringVar(&p.cpu, "cpuprofile", "", "write a CPU profile to this file (go tool pprof)")
	flags.StringVar(&p.memory, "memprofile", "", "write an allocation profile to this file (go tool pprof)")
	flags.StringVar(&p.trace, "trace", "", "write an execution trace to this file (go tool trace)")
}

// ended returns the end of a run: the time now and the peak memory.
func ended() rundir.End { return rundir.End{At: time.Now(), PeakMemoryBytes: peakMemory()} }

// start starts the requested profiles. Stop ends and writes them.
func (p *profiles) start() (stop func() error, err error) {
	var ends []func() error
	stop = func() error {
		var all error
		for i := len(ends) - 1; i >= 0; i-- {
			all = errors.Join(all, ends[i]())
		}
		return all
	}
	begin := func(path string, begin func(*os.File) error, end func(*os.File) error) error {
		if path == "" {
			return nil
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := begin(file); err != nil {
			return errors.Join(err, file.Close())
		}
		ends = append(ends, func() error { return errors.Join(end(file), file.Close()) })
		return nil
	}
	nothing := func(*os.File) error { return nil }
	err = errors.Join(
		begin(p.cpu, func(f *os.File) error { return pprof.StartCPUProfile(f) },
			func(*os.File) error { pprof.StopCPUProfile(); return nil }),
		begin(p.trace, func(f *os.File) error { return trace.Start(f) },
			func(*os.File) error { trace.Stop(); return nil }),
		begin(p.memory, nothing, func(f *os.File) error {
			runtime.GC() // so that the profile shows live memory
			return pprof.Lookup("allocs").WriteTo(f, 0)
		}),
	)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}
