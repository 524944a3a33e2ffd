package twin

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// row is a row of testdata/oracle.csv: a setting with the value that another program computed, with numpy and scipy.
type row struct {
	setting, quantity string
	predicted         float64
	p                 map[string]any
}

func (r *row) number(key string, otherwise float64) float64 {
	if x, ok := r.p[key].(float64); ok {
		return x
	}
	return otherwise
}

func (r *row) text(key string) string { s, _ := r.p[key].(string); return s }

func (r *row) numbers(key string) (all []float64) {
	list, _ := r.p[key].([]any)
	for _, x := range list {
		all = append(all, x.(float64))
	}
	return all
}

func oracle(t *testing.T) (rows []row) {
	f := expect.Value(os.Open("testdata/oracle.csv"))(t)
	defer func() { expect.NoError(t, f.Close()) }()
	records := expect.Value(csv.NewReader(f).ReadAll())(t)
	for _, c := range records[1:] {
		r := row{setting: c[0], quantity: c[2], predicted: expect.Value(strconv.ParseFloat(c[4], 64))(t)}
		expect.NoError(t, json.Unmarshal([]byte(c[10]), &r.p))
		rows = append(rows, r)
	}
	return rows
}

// law reads the law of times of the setting for a mean.
func (r *row) law(mean float64) Law {
	l := Law{Mean: mean}
	switch of := r.text("law"); {
	case of == "exponential":
		l.Exponential = true
	case strings.HasPrefix(of, "log-normal cv "):
		l.CV, _ = strconv.ParseFloat(strings.TrimPrefix(of, "log-normal cv "), 64)
	}
	return l
}

// times returns the mean seconds of computing of the clients of the setting.
func (r *row) times() (tau []float64) {
	name := r.text("scenario")
	if strings.HasPrefix(name, "one-class") {
		clients := 20
		switch {
		case strings.Contains(name, "300 clients"):
			clients = 300
		case strings.Contains(name, "1 client,"):
			clients = 1
		}
		for range clients {
			tau = append(tau, r.number("devices.task_overhead_s", 10))
		}
		return tau
	}
	classes, each := []float64{2, 10.31, 41.7}, 4
	if of := r.numbers("class means s"); of != nil {
		classes = of
	}
	if strings.Contains(name, "60 clients") {
		each = 20
	}
	for _, s := range classes {
		for range each {
			tau = append(tau, s)
		}
	}
	return tau
}

// of returns the first client of a class, fast or slow, in times.
func of(quantity string, n int) int {
	if strings.Contains(quantity, "slow") {
		return n - 1
	}
	return 0
}

// value computes the value of a row.
func (r *row) value(t *testing.T) float64 {
	tau := r.times()
	n, has := len(tau), func(part string) bool { return strings.Contains(r.quantity, part) }
	m := int(r.number("federation.clients_per_round", float64(n)))
	if m == 0 {
		m = n
	}
	drop := r.number("faults.drop_probability", 0)
	switch kind := r.setting[:1]; kind {
	case "A":
		travel, radio := 0.0, 0.0
		if rtt := r.number("network.rtt_ms", 0); rtt > 0 {
			travel = rtt / 1e3
		}
		if r.text("network.profile") == "lte" { // with an rtt of 0 and both rates of 1e6 Mbit/s only its radio
			t.Skip("needs the profile of a link: a test of the scenario has it")
		}
		all := make([]float64, n)
		for i := range tau {
			all[i] = tau[i] + travel
		}
		a := NewAsynchronous(all, m)
		expect.That(t, a.Exact, "%d clients are not exact", n)
		switch i := of(r.quantity, n); {
		case has("staleness"):
			return a.Staleness[i]
		case has("utilisation"):
			return a.Each[i] * all[i]
		case has("energy"):
			busy := 0.0
			for i := range tau {
				busy += a.Each[i] * tau[i]
			}
			return (float64(n) + 2*busy + radio) / a.Rate
		case has("client"):
			return a.Each[i]
		default:
			return a.Rate * (1 - drop)
		}
	case "S":
		rate, _ := Station(tau, m, r.number("server mean s", 0))
		return rate
	case "G": // messages of 144 bytes, to clients at 1e6 Mbit/s
		megabits := 144 * 8 * r.number("network.bytes_scale", 0) / 1e6
		for i := range tau {
			tau[i] += megabits / 1e6
		}
		rate, there := Station(tau, m, megabits/r.number("network.cell_up_mbps", 0))
		if has("under way") {
			return there
		}
		return rate
	case "J":
		rates := r.numbers("rates")
		for i := range rates {
			rates[i] = 1 / rates[i]
		}
		q := NewQueue(rates, r.numbers("routing"), r.numbers("delay s"), int(r.number("m", 0)), r.number("server s", 0))
		return q.Staleness[of(r.quantity, 3)]
	case "B", "C", "F":
		round := Round{Asked: m, Needed: m, Deadline: r.number("federation.deadline_s", Unbounded),
			Least: int(r.number("federation.min_reports", 0)), Fails: drop}
		for _, s := range tau {
			round.Laws = append(round.Laws, r.law(s))
		}
		if over := r.number("federation.protocol_options.over_selection", 1); over > 1 {
			round.Asked = int(math.Ceil(over * float64(m)))
		}
		switch law := round.Laws[0]; {
		case kind == "F" && has("messages"):
			return float64(n) / (1 - drop)
		case kind == "F":
			round.Fails = 0
			return round.Seconds() / (1 - drop)
		case has("participants"):
			return round.Participants()
		case has("void"):
			return round.Void()
		case has("energy"):
			return float64(n)*round.Deadline + 2*float64(n)*law.Within(round.Deadline)
		case has("at once"):
			t.Skip("a round ends when failures are due")
		}
		return round.Seconds()
	case "E":
		o := OnOff{r.number("traces.availability.mean_up_s", 0), r.number("traces.availability.mean_down_s", 0)}
		switch {
		case has("variance"):
			return float64(n) * o.Share() * (1 - o.Share())
		case has("participants"):
			return float64(n) * o.Share() * o.Completed(r.law(10), r.number("federation.deadline_s", 0))
		case has("wait"):
			return o.Wait(n, int(r.number("federation.min_available", 0)))
		default:
			return o.Alone(tau[0], r.text("faults.on_return") == "resume")
		}
	case "H":
		law, d := r.law(10), r.number("federation.deadline_s", 0)
		mean := law.Within(d)
		return Depletion(3600*r.number("devices.battery_wh", 0), d+2*mean, 4*(law.Square(d)-mean*mean))
	case "I":
		least := int(math.Ceil(r.number("privacy.threshold", 0)*float64(n) - 1e-9))
		lost := Round{Laws: []Law{{Mean: 10}}, Asked: n, Needed: n, Fails: drop, Deadline: 1000, Least: least}
		return lost.Void()
	}
	t.Fatal("no form")
	return 0
}

// The forms have the values of the oracle, to the digits that it gives.
func TestOracle(t *testing.T) {
	compared := 0
	for _, r := range oracle(t) {
		t.Run(r.setting+"/"+r.quantity, func(t *testing.T) {
			got := r.value(t)
			expect.That(t, math.Abs(got-r.predicted) <= 1e-6*math.Abs(r.predicted), "%.9g, want %.9g", got, r.predicted)
			compared++
		})
	}
	expect.That(t, compared >= 110, "compared %d rows", compared)
}

// The forms of e_j hold for random response times: the sums over all sets of clients at work say so.
func TestAsynchronousByEnumeration(t *testing.T) {
	s := rng.New(1, rng.Design, 0, 0)
	for range 20 {
		n := 2 + s.IntN(8)
		m := 1 + s.IntN(n)
		tau := make([]float64, n)
		for i := range tau {
			tau[i] = 0.1 + 10*s.Float64()
		}
		total, ends := 0.0, make([]float64, n)
		for set := range 1 << n {
			product, size := 1.0, 0
			for i := range tau {
				if set>>i&1 == 1 {
					product *= tau[i]
					size++
				}
			}
			if size != m {
				continue
			}
			total += product
			for i := range tau {
				if set>>i&1 == 1 {
					ends[i] += product / tau[i]
				}
			}
		}
		a, rate, stale := NewAsynchronous(tau, m), 0.0, 0.0
		for i := range tau {
			near(t, a.Each[i], ends[i]/total, 1e-10)
			rate += a.Each[i]
			stale += a.Each[i] * a.Staleness[i]
		}
		near(t, a.Rate, rate, 1e-10)
		near(t, stale/rate, float64(m-1), 1e-9)
	}
}

// The form for many clients nears the exact one.
func TestManyClients(t *testing.T) {
	tau := make([]float64, 300)
	for i := range tau {
		tau[i] = []float64{2, 10.31, 41.7}[i%3]
	}
	exact, many := NewAsynchronous(tau, 100), Asynchronous{Each: make([]float64, 300), Staleness: make([]float64, 300)}
	many.many(tau, 100)
	near(t, many.Rate, exact.Rate, 0.0033)
	near(t, many.Staleness[2], exact.Staleness[2], 0.02)
	few := Asynchronous{Each: make([]float64, 12)}
	few.Staleness = make([]float64, 12)
	few.many(tau[:12], 4)
	near(t, few.Rate, 1.088*NewAsynchronous(tau[:12], 4).Rate, 1e-3)
	large := make([]float64, 30_000)
	for i := range large {
		large[i] = 1 + float64(i)
	}
	expect.That(t, !NewAsynchronous(large, 1000).Exact, "the sums of %d clients are exact", len(large))
}

// A cohort of a mixed fleet is as the mean over all cohorts.
func TestRoundOfCohorts(t *testing.T) {
	laws := []Law{{Mean: 1, CV: 1}, {Mean: 2, Exponential: true}, {Shift: 1, Mean: 3, CV: 0.5}, {Mean: 2.5}}
	for _, fails := range []float64{0, 0.3} {
		for _, deadline := range []float64{2.2, Unbounded} {
			all := Round{Laws: laws, Asked: 3, Needed: 2, Fails: fails, Deadline: deadline, Least: 1}
			seconds, taken, void := 0.0, 0.0, 0.0
			for out := range laws {
				one := all
				one.Laws = append(append([]Law(nil), laws[:out]...), laws[out+1:]...)
				seconds += one.Seconds() / 4
				taken += one.Participants() / 4
				void += one.Void() / 4
			}
			near(t, all.Seconds(), seconds, 1e-8)
			near(t, all.Participants(), taken, 1e-10)
			near(t, all.Void(), void, 1e-10)
		}
	}
	two := Round{Laws: laws[:2], Asked: 2, Needed: 1, Fails: 0.2, Deadline: 1.5}
	p, q := 0.8*laws[0].CDF(1.5), 0.8*laws[1].CDF(1.5)
	near(t, two.Participants(), 1-(1-p)*(1-q), 1e-12)
}

// The means of laws up to a time are those of many draws of a quantile.
func TestLaws(t *testing.T) {
	for _, l := range []Law{{Mean: 2, CV: 1}, {Shift: 1, Mean: 2, Exponential: true}, {Mean: 3},
		{Shift: 1, Mean: 4, CV: 3}} {
		near(t, l.Within(Unbounded), l.Expected(), 1e-7)
		mean, square, const0 := 0.0, 0.0, 3.7
		const steps = 400_000
		before := 0.0
		for i := range steps {
			x := const0 * (float64(i) + 0.5) / steps
			rest := (1 - l.CDF(x)) * const0 / steps
			mean, square, before = mean+rest, square+2*x*rest, x
		}
		expect.That(t, before < const0, "the last point is %g", before)
		near(t, l.Within(const0), mean, 1e-5)
		near(t, l.Square(const0), square, 1e-5)
	}
}

func near(t *testing.T, got, want, within float64) {
	t.Helper()
	expect.That(t, math.Abs(got-want) <= within*math.Abs(want), "%.12g, want %.12g", got, want)
}
