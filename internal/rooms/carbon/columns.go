package carbon

import "fedsim/results"

// Columns are the columns of rounds.parquet.
var Columns = &results.Declared{
	Field: "co2", Amount: "grams", Title: "grams of CO2e (docs/time.md#energy-and-carbon)", Cut: "CO2e of ",
	Columns: []results.Column[results.Round]{
		{Name: "co2_g", Unit: "g", Label: "CO2e of devices, network and server", Head: "CO2e",
			Doc: "grams of CO2e in the round (docs/time.md#energy-and-carbon), the sum of the columns that follow, " +
				"as far as they are counted; empty without energy.grid"},
		{Name: "co2_compute_g", Unit: "g", Label: "CO2e of computing devices",
			Doc: "grams of CO2e of devices while they compute"},
		{Name: "co2_send_g", Unit: "g", Label: "CO2e of sending devices",
			Doc: "grams of CO2e of devices while they send or receive"},
		{Name: "co2_wait_g", Unit: "g", Label: "CO2e of waiting devices", Doc: "grams of CO2e of devices otherwise"},
		{Name: "co2_network_g", Unit: "g", Label: "CO2e of the network",
			Doc: "grams of CO2e of the network; empty without energy.network_kwh_per_gb"},
		{Name: "co2_server_compute_g", Unit: "g", Label: "CO2e of the computing server",
			Doc: "grams of CO2e of the server while it computes (federation.server_gflops); " +
				"empty without energy.server_w"},
		{Name: "co2_server_wait_g", Unit: "g", Label: "CO2e of the waiting server",
			Doc: "grams of CO2e of the server while it waits for devices; empty without energy.server_w"},
	},
}
