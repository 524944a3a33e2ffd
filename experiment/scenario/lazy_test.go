package scenario

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// A lazy population refuses what needs state of all clients, with the reason.
func TestLazyPopulationsRefuseWhatNeedsAllClients(t *testing.T) {
	const base = `
data.source = "external"
data.external = { clients = 1000, rows = 4, features = 5 }
problem.optimum.when = "never"
devices.battery.wh = "mains"
federation = { population = "lazy", clients_per_round = 5, selection = "uniform-rejection" }
run.mode = "timing"
methods.fedavg.options.epochs = 1
`
	expect.Value(Parse("x.toml", []byte(base), nil))(t)
	for set, want := range map[string]string{
		`run.mode=learning`: `: must be "timing" with federation.population = "lazy"`,
		`run.devices=true`:  `: must be false`,
		`federation.selection=oort`: `: must be one by rejection, such as "uniform-rejection": ` +
			`"oort" needs all clients`,
		`federation.clients_per_round=100 %`: `: must be less than all`,
		`federation.min_available=3`:         `: must be 0`,
		`federation.cost=relative`:           `: must be "physical"`,
		`devices.battery.wh=5`:               `: must be "mains"`,
		`overhead.task_s=5`:                  `: must be 0`,
		`network.hubs.size=10`:               `: must be left out`,
		`network.shared.server_up_mbps=10`:   `: must be left out`,
		`network.radio=states`:               `: must be "active"`,
		`overhead.runtime=flower-1.41`:       `: must be empty`,
		`compression.down=float16`:           `: must be "none"`,
		`fleet.name=phones-2017`:             `: must be empty`,
		`federation.partial_share=0.5`:       `: must be 0`,
		`federation.population=laazy`:        `: must be one of eager, lazy`,
	} {
		_, err := Parse("x.toml", []byte(base), []string{set})
		if _, want, _ = strings.Cut(want, ": "); err == nil || !strings.Contains(err.Error(), "--set "+set+": "+want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
}
