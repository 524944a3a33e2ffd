package network

import "slices"

// Profile is what a link is. It does not change. While sending or receiving at
// r Mbps a device's radio draws a r + b milliwatts, with a = RadioUp or
// RadioDown and b = RadioBase (Huang et al., MobiSys 2012).
type Profile struct {
	Name         string
	DownlinkMbps float64 // 10^6 bit/s
	UplinkMbps   float64
	RTTms        float64 // round trip, milliseconds
	RadioUp      float64 // a_u, mW per Mbps
	RadioDown    float64 // a_d, mW per Mbps
	RadioBase    float64 // b, mW
	RelativeCost float64 // one round's communication, in local passes over n_min rows (paper, section 5.3)
	Source       string
}

const (
	huang2012 = "Huang et al., MobiSys 2012"
	browser   = "ranges of rates in Grigorik, High Performance Browser Networking, table 7-2"
)

var profiles = [...]Profile{
	{
		Name: "wifi", DownlinkMbps: 50, UplinkMbps: 20, RTTms: 30,
		RadioUp: 283.17, RadioDown: 137.01, RadioBase: 132.86, RelativeCost: 10,
		Source: "rates of 2020: our choice; round trip and radio: " + huang2012,
	},
	{
		Name: "wifi-2012", DownlinkMbps: 5, UplinkMbps: 1.5, RTTms: 30,
		RadioUp: 283.17, RadioDown: 137.01, RadioBase: 132.86, RelativeCost: 10,
		Source: huang2012,
	},
	{
		Name: "lte", DownlinkMbps: 12.7, UplinkMbps: 5.6, RTTms: 70,
		RadioUp: 438.39, RadioDown: 51.97, RadioBase: 1288.04, RelativeCost: 100,
		Source: huang2012 + " and SIGCOMM 2013",
	},
	{
		Name: "3g", DownlinkMbps: 1, UplinkMbps: 0.4, RTTms: 200,
		RadioUp: 868.98, RadioDown: 122.12, RadioBase: 817.88, RelativeCost: 1000,
		Source: huang2012 + "; " + browser,
	},
	{
		Name: "ethernet", DownlinkMbps: 1000, UplinkMbps: 1000, RTTms: 0.5,
		RadioUp: 0, RadioDown: 0, RadioBase: 0, RelativeCost: 1,
		Source: "our choice; the paper's relative costs name no wire",
	},
}

// Profiles returns the known profiles.
func Profiles() []Profile { return slices.Clone(profiles[:]) }

// ProfileNames returns the names of the known profiles, in the order of Profiles.
func ProfileNames() []string {
	names := make([]string, len(profiles))
	for i := range profiles {
		names[i] = profiles[i].Name
	}
	return names
}

// Lookup returns the profile of that name; ok is false when there is none.
func Lookup(name string) (p Profile, ok bool) {
	for _, p := range profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}
