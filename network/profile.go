package network

import "fedsim/internal/tools/registry"

// Profile describes a kind of link. It does not change. While sending or receiving at r
// Mbps, the radio draws a r + b milliwatts, with a = RadioUp or RadioDown and b =
// RadioBase (Huang et al., MobiSys 2012). Promotion and Tail are the states before and
// after that; see Radio.
type Profile struct {
	Name         string
	DownlinkMbps float64 // 10^6 bit/s
	UplinkMbps   float64
	RTTms        float64 // round trip, milliseconds
	RadioUp      float64 // a_u, mW per Mbps
	RadioDown    float64 // a_d, mW per Mbps
	RadioBase    float64 // b, mW
	Radio        Technology
	Promotion    RadioState
	Tail         [Tails]RadioState
	RelativeCost float64 // one round's communication, in local passes over n_min rows (paper, section 5.3)
	WireFactor   float64 // bytes on the wire for each byte of a message; 0: that of the Config
	BurstBytes   float64 // bytes on the wire of each transfer that pass at once; 0: those of the Config
	Source       string
}

// Technology is the kind of radio that a link needs.
type Technology uint8

const (
	Wire Technology = iota // none
	WiFi
	Cellular
	Bluetooth
)

// RadioState is a state of a radio in which it neither sends nor receives.
type RadioState struct{ Seconds, Watts float64 }

// The states beside the active one, with the powers measured by Huang et al. (MobiSys
// 2012). The tail of LTE excludes the short peaks of discontinuous reception, one
// thirtieth of its energy. The timers of 3G are those of Zhang et al. (CODES+ISSS 2010).
// Huang et al. measured 8.09 s and 0.82 s in their network, 7.0 J instead of 6.8.
var (
	wifiPromotion, wifiTail = RadioState{0.0791, 0.1244}, RadioState{0.25, 0.1193}
	ltePromotion, lteTail   = RadioState{0.26, 1.21}, RadioState{11.576, 1.06}
	umtsPromotion           = RadioState{0.5821, 0.6594}
	umtsDCH, umtsFACH       = RadioState{4, 0.8039}, RadioState{6, 0.6013}
)

const (
	huang2012 = "Huang et al., MobiSys 2012"
	browser   = "ranges of rates in Grigorik, High Performance Browser Networking, table 7-2"
	nordic    = "Nordic Semiconductor, nRF52832 Product Specification 1.1, radio at 3 V: 6.5 mA receiving, " +
		"7.1 mA sending at 0 dBm"
)

var profiles = registry.NewCatalog(func(p *Profile) string { return p.Name },
	Profile{
		Name: "wifi", DownlinkMbps: 50, UplinkMbps: 20, RTTms: 30,
		RadioUp: 283.17, RadioDown: 137.01, RadioBase: 132.86, RelativeCost: 10,
		Radio: WiFi, Promotion: wifiPromotion, Tail: [Tails]RadioState{wifiTail},
		Source: "rates of 2020: our choice; round trip and radio: " + huang2012,
	},
	Profile{
		Name: "wifi-2012", DownlinkMbps: 5, UplinkMbps: 1.5, RTTms: 30,
		RadioUp: 283.17, RadioDown: 137.01, RadioBase: 132.86, RelativeCost: 10,
		Radio: WiFi, Promotion: wifiPromotion, Tail: [Tails]RadioState{wifiTail},
		Source: huang2012,
	},
	Profile{
		Name: "lte", DownlinkMbps: 12.7, UplinkMbps: 5.6, RTTms: 70,
		RadioUp: 438.39, RadioDown: 51.97, RadioBase: 1288.04, RelativeCost: 100,
		Radio: Cellular, Promotion: ltePromotion, Tail: [Tails]RadioState{lteTail},
		Source: huang2012 + " and SIGCOMM 2013",
	},
	Profile{
		Name: "3g", DownlinkMbps: 1, UplinkMbps: 0.4, RTTms: 200,
		RadioUp: 868.98, RadioDown: 122.12, RadioBase: 817.88, RelativeCost: 1000,
		Radio: Cellular, Promotion: umtsPromotion, Tail: [Tails]RadioState{umtsDCH, umtsFACH},
		Source: huang2012 + "; timers of the tail: Zhang et al., CODES+ISSS 2010; " + browser,
	},
	Profile{
		// A packet on the LE 1M PHY carries 244 bytes of a notification in 2.5 ms,
		// including the acknowledgement and the gaps (Bluetooth Core Specification 4.2):
		// 0.78 Mbps at most. A message waits a connection interval of 30 ms each way.
		Name: "ble", DownlinkMbps: 0.7, UplinkMbps: 0.7, RTTms: 60,
		RadioUp: 2.6, RadioDown: 0, RadioBase: 19.5, RelativeCost: 100,
		Radio: Bluetooth,
		Source: "rate, a tenth below the limit of the LE 1M PHY, round trip and relative cost: our choice; radio: " +
			nordic,
	},
	Profile{
		Name: "ethernet", DownlinkMbps: 1000, UplinkMbps: 1000, RTTms: 0.5,
		RadioUp: 0, RadioDown: 0, RadioBase: 0, RelativeCost: 1,
		Source: "our choice; the paper's relative costs name no wire",
	},
)

// Profiles returns the known profiles.
func Profiles() []Profile { return profiles.All() }

// ProfileNames returns the names of the known profiles, in the order of Profiles.
func ProfileNames() []string { return profiles.Names() }

// Lookup returns the profile with a name; ok is false if there is none.
func Lookup(name string) (p Profile, ok bool) { return profiles.Lookup(name) }
