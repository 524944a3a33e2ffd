package devices

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"fedsim/internal/tools/input"
)

// PowerProfile has the values of a power_profile.xml, in which the maker of an Android
// device lists its currents (source.android.com, "Measure power values"). Currents are
// converted to powers at nominalVolts.
type PowerProfile struct {
	Device    string
	ClockGHz  float64 // highest clock of any core
	IdleW     float64 // cpu.suspend + cpu.idle
	ComputeW  float64 // IdleW plus one core of the fastest cluster at its highest clock
	Steps     []Step  // the clocks of that cluster
	BatteryWh float64 // 0: not in the file
	WiFiW     float64 // of an active WiFi radio; 0: not in the file
	CellularW float64 // of an active cellular radio; 0: not in the file
}

// nominalVolts converts currents to powers and charges to energies. The voltage of
// lithium-ion phone cells is between 4.4 V, full, and 3.4 V, empty.
const nominalVolts = 3.85

// maxPowerProfile limits the size of a file in bytes. Files of real devices have less
// than 20 kB.
const maxPowerProfile = 1 << 20

// PowerProfileError is an error in a power profile with its position.
type PowerProfileError struct {
	Offset int64 // bytes before the position
	Reason string
}

// Error returns the position and the reason.
func (e *PowerProfileError) Error() string {
	return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason)
}

// readPowerProfile reads a file. An error is a *PowerProfileError or from the file
// system.
func readPowerProfile(path string) (PowerProfile, error) {
	text, err := input.ReadText(path, maxPowerProfile)
	if err != nil {
		return PowerProfile{}, err
	}
	return parsePowerProfile(text)
}

// parsePowerProfile parses the text of a file. Unknown names are ignored. All errors are
// *PowerProfileError.
func parsePowerProfile(text []byte) (PowerProfile, error) {
	if len(text) > maxPowerProfile {
		return PowerProfile{}, failAt(maxPowerProfile, "is longer than %d bytes, the limit of a power profile", maxPowerProfile)
	}
	p := powerProfile{values: make(map[string]powerItem)}
	if err := p.read(text); err != nil {
		return PowerProfile{}, err
	}
	return p.profile(int64(len(text)))
}

type powerItem struct {
	numbers []float64
	at      int64
}

// powerProfile is a file being read.
type powerProfile struct {
	device string
	values map[string]powerItem

	open   []string  // open elements, outermost first
	name   string    // of the open item or array
	now    powerItem // of the open item or array
	number strings.Builder
}

// failAt returns an error at a byte of a power profile.
func failAt(at int64, format string, args ...any) error {
	return &PowerProfileError{at, fmt.Sprintf(format, args...)}
}

// read collects the items and arrays of a file.
func (p *powerProfile) read(text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	// Numbers and relevant names are the same in all encodings of such files.
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		at := d.InputOffset()
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(p.values) == 0 {
				return failAt(at, "has no items: must be a <device> with <item>s and <array>s")
			}
			return nil
		}
		if err == nil {
			err = p.token(at, token)
		} else if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
			err = failAt(d.InputOffset(), "line %d: %s", syntax.Line, syntax.Msg)
		} else {
			err = failAt(d.InputOffset(), "%v", err)
		}
		if err != nil {
			return err
		}
	}
}

// token takes the token at a byte of the file.
func (p *powerProfile) token(at int64, token xml.Token) error {
	switch token := token.(type) {
	case xml.StartElement:
		return p.start(at, token)
	case xml.CharData:
		if len(p.open) > 0 && (p.open[len(p.open)-1] == "item" || p.open[len(p.open)-1] == "value") {
			p.number.Write(token)
		} else if strings.TrimSpace(string(token)) != "" {
			return failAt(at, "text must be within an <item> or a <value>")
		}
	case xml.EndElement:
		return p.end(at)
	case xml.Directive:
		return failAt(at, "must not have a document type")
	}
	return nil
}

func (p *powerProfile) start(at int64, token xml.StartElement) error {
	element := token.Name.Local
	within := strings.Join(p.open, " ")
	switch {
	case within == "" && element == "device":
		p.device = attribute(token, "name")
	case within == "device" && (element == "item" || element == "array"):
		if p.name = attribute(token, "name"); p.name == "" {
			return failAt(at, "<%s> has no name", element)
		}
		p.now = powerItem{at: at}
		p.number.Reset()
	case within == "device array" && element == "value":
		p.number.Reset()
	default:
		return failAt(at, "<%s> is not allowed in <%s>", element, strings.Join(p.open, "><"))
	}
	p.open = append(p.open, element)
	return nil
}

// end closes the innermost element: the decoder checks that names match.
func (p *powerProfile) end(at int64) error {
	element := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if element == "item" || element == "value" {
		text := strings.TrimSpace(p.number.String())
		x, err := input.Number(text)
		if err != nil || !(x >= 0 && x <= 1e9) {
			return failAt(at, "%s = %.40q: must be a number in [0, 1e9]", p.name, text)
		}
		p.now.numbers = append(p.now.numbers, x)
	}
	if element == "item" || element == "array" {
		if _, twice := p.values[p.name]; twice {
			return failAt(p.now.at, "duplicate %s", p.name)
		}
		p.values[p.name] = p.now
	}
	return nil
}

func attribute(element xml.StartElement, name string) string {
	for _, a := range element.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// item returns a single number, 0 if it is not in the file.
func (p *powerProfile) item(name string) (float64, error) {
	e, ok := p.values[name]
	switch {
	case !ok:
		return 0, nil
	case len(e.numbers) != 1:
		return 0, failAt(e.at, "%s has %d values: must have one", name, len(e.numbers))
	default:
		return e.numbers[0], nil
	}
}

// cluster is a group of cores with a common clock.
type cluster struct {
	khz, mA powerItem
	base    float64 // mA of the cluster while any of its cores is active
}

// top returns the highest clock.
func (c *cluster) top() float64 { return slices.Max(c.khz.numbers) }

// fastest returns the cluster with the highest clock, the first of several. end is the
// length of the file.
func (p *powerProfile) fastest(end int64) (best cluster, err error) {
	active, isArray := p.values["cpu.active"]
	if _, old := p.values["cpu.speeds"]; old { // before Android 7: one cluster, and currents of the whole processor
		best, _, err = p.cluster("cpu.speeds", "cpu.active", 0)
		return best, err
	}
	common := 0.0
	if isArray {
		if common, err = p.item("cpu.active"); err != nil {
			return best, &PowerProfileError{active.at, "cpu.active has several values, but cpu.speeds is missing"}
		}
	}
	for i := 0; ; i++ {
		base, err := p.item(fmt.Sprintf("cpu.cluster_power.cluster%d", i))
		if err != nil {
			return best, err
		}
		c, ok, err := p.cluster(fmt.Sprintf("cpu.core_speeds.cluster%d", i), fmt.Sprintf("cpu.core_power.cluster%d", i), common+base)
		if err != nil {
			return best, err
		}
		if !ok {
			break
		}
		if len(best.khz.numbers) == 0 || c.top() > best.top() {
			best = c
		}
	}
	if len(best.khz.numbers) == 0 {
		return best, &PowerProfileError{end, "has neither cpu.core_speeds.cluster0 nor cpu.speeds: one is required"}
	}
	return best, nil
}

// cluster returns the clocks and currents under two names. ok is false if they are
// missing.
func (p *powerProfile) cluster(speeds, power string, base float64) (c cluster, ok bool, err error) {
	c = cluster{khz: p.values[speeds], mA: p.values[power], base: base}
	if _, ok := p.values[speeds]; !ok {
		return c, false, nil
	}
	if n := len(c.khz.numbers); n == 0 || n > 255 || n != len(c.mA.numbers) {
		return c, false, failAt(c.khz.at, "%s has %d values and %s %d: must have equally many, from 1 to 255", speeds, n, power, len(c.mA.numbers))
	}
	for i, khz := range c.khz.numbers {
		switch {
		case khz == 0 || i > 0 && khz <= c.khz.numbers[i-1]:
			return c, false, failAt(c.khz.at, "%s: %g kHz must be positive and above the clock before it", speeds, khz)
		case c.mA.numbers[i]+base == 0:
			return c, false, failAt(c.mA.at, "%s: a core at %g kHz must draw a current", power, khz)
		}
	}
	return c, true, nil
}

// profile converts currents to powers.
func (p *powerProfile) profile(end int64) (PowerProfile, error) {
	const watts = nominalVolts / 1e3 // per mA
	out := PowerProfile{Device: p.device}
	var suspended, idle float64
	var errs [5]error
	suspended, errs[0] = p.item("cpu.suspend")
	idle, errs[1] = p.item("cpu.idle")
	out.BatteryWh, errs[2] = p.item("battery.capacity")
	out.WiFiW, errs[3] = p.item("wifi.active")
	out.CellularW, errs[4] = p.item("radio.active")
	for _, err := range errs {
		if err != nil {
			return PowerProfile{}, err
		}
	}
	core, err := p.fastest(end)
	if err != nil {
		return PowerProfile{}, err
	}
	out.BatteryWh *= watts
	out.WiFiW *= watts
	out.CellularW *= watts
	out.IdleW = float64((suspended + idle) * watts)
	last := len(core.khz.numbers) - 1
	most := core.base + core.mA.numbers[last]
	out.ClockGHz = core.top() / 1e6
	out.ComputeW = out.IdleW + float64(most*watts)
	for i, khz := range core.khz.numbers {
		out.Steps = append(out.Steps, Step{Clock: khz / core.top(), Power: (core.base + core.mA.numbers[i]) / most})
	}
	return out, nil
}
