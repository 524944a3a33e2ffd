package fleets

import (
	"fmt"
	"slices"
	"strings"
)

// Levels are the levels of heterogeneity of devices and of links, from none to the most
// (docs/time.md#levels).
var Levels = []string{"none", "mild", "middle", "severe"}

// Level returns the fleet of levels of devices and of links, which are independent:
//
//	none    the middle device of phones-2017; WiFi
//	mild    the same with the spreads of the built-in fleets
//	middle  the devices of phones-2017; its links
//	severe  those of phones-2010, phones-2017 and phones-2020, a third each
func Level(devices, links string) *Fleet {
	f := &Fleet{Description: fmt.Sprintf("A level of heterogeneity: devices %s, links %s", devices, links)}
	for _, m := range parts(devices, func(k Class) Class {
		k.Name = fmt.Sprintf("%s-%.2g", strings.TrimPrefix(k.Device, "phone-"), k.machine().Rate()/1e9)
		k.Link, k.RateSpread = "", 0
		return k
	}) {
		for _, l := range parts(links,
			func(k Class) Class { return Class{Name: k.Link, Link: k.Link, RateSpread: k.RateSpread} }) {
			k := m
			k.Name, k.Share, k.Link, k.RateSpread = m.Name+"/"+l.Name, m.Share*l.Share, l.Link, l.RateSpread
			f.Classes = append(f.Classes, k)
		}
	}
	return f
}

// parts returns the devices or the links of a level with their shares: part returns that of a class.
// Equal ones of several classes are one.
func parts(level string, part func(Class) Class) (all []Class) {
	add := func(share float64, k Class) {
		k = part(k)
		k.Share = 0
		i := slices.IndexFunc(all, func(o Class) bool { o.Share = 0; return o == k })
		if i < 0 {
			i, all = len(all), append(all, k)
		}
		all[i].Share += share
	}
	from := []string{"phones-2017"}
	switch level {
	case "none", "mild":
		k := Class{Device: "phone-2017", Link: "wifi"}
		if level == "mild" {
			k.SpeedSpread, k.RateSpread = 0.3, 0.45
		}
		add(1, k)
		return all
	case "severe":
		from = []string{"phones-2010", "phones-2017", "phones-2020"}
	}
	for _, name := range from {
		f, _ := BuiltIn(name)
		for _, k := range f.Classes {
			add(k.Share/float64(len(from)), k)
		}
	}
	return all
}
