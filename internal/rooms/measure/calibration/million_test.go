package calibration

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
)

// writeMillion writes a log of a thousand rounds of a thousand clients and returns its path.
func writeMillion(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "big.csv")
	file := expect.Value(os.Create(path))(b)
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "run,round,client,bytes_down,bytes_up,examples,epochs,batch,steps,flops,sent_s,reply_first_s,"+
		"seen_s,receive_s,wait_s,compute_s,cpu_s,outcome,down_mbps,up_mbps,gflops")
	for i := range million {
		at := float64(i/1000) * 10
		fmt.Fprintf(out, "big,%d,client-%d,199880,199892,16000,1,32,500,4796160000,%.6f,%.6f,%.6f,0.820025,0.00005,"+
			"%.6f,0.092625,taken,2,2,16\n",
			i/1000, i%1000, at, at+2, at+3, 0.6+float64(i%7)/100)
	}
	expect.NoError(b, out.Flush())
	expect.NoError(b, file.Close())
	return path
}

const million = 1_000_000

// A calibration on a million rows, and the reading of them alone: the target of the whole is 10 s on two cores and 1
// GB.
func BenchmarkMillion(b *testing.B) {
	path := writeMillion(b)
	read := func(b *testing.B) *attemptlog.Log {
		log, err := attemptlog.Read(path)
		expect.Must(b, err == nil && len(log.Runs[0].Attempts) == million, "%v", err)
		return log
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			read(b)
		}
	})
	b.Run("calibrate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			log := read(b)
			c, err := Fit(log, Options{Seed: 1})
			expect.NoError(b, err)
			r := Results{Text: c.Sections(c.InSample(log), nil).Text(80)}
			if r.Figures, err = c.Figures(log); err != nil {
				b.Fatal(err)
			}
			expect.NoError(b, c.Write(filepath.Join(b.TempDir(), "cal"), log, r, true))
		}
	})
}
