package config_test

import (
	"fmt"

	"fedsim/config"
)

// radio is a configuration struct with its documented keys.
type radio struct {
	Mbps float64 `toml:"mbps" doc:"rate in 10^6 bit/s"`
	Kind string  `toml:"kind" doc:"\"wifi\" or \"lte\""`
}

func (r *radio) Validate(c *config.Checker) {
	c.Require(r.Mbps > 0, "mbps", r.Mbps, "must be positive")
	c.OneOf("kind", r.Kind, "wifi", "lte")
}

// A struct is decoded over its defaults, then checked. All problems have their places.
func Example() {
	root, err := config.Parse("radio.toml", []byte("mpbs = 5\nkind = \"wfi\"\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := radio{Mbps: 20, Kind: "wifi"}
	problems := config.Decode(root, "", &r)
	check := config.NewChecker()
	r.Validate(check)
	problems.AddFound(root, check)
	fmt.Println(problems.Err())
	// Output:
	// radio.toml:1:1: unknown key mpbs: did you mean mbps?
	// radio.toml:2:8: kind = "wfi": must be one of wifi, lte (did you mean "wifi"?)
}
