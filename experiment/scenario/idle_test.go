package scenario

import (
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
)

func TestNotesOfKeysWithoutEffect(t *testing.T) {
	const methods = "\n[methods.fedavg]\noptions = { epochs = 2, weights = \"equal\" }\n"
	for source, want := range map[string][]string{
		"[privacy]\nmechanism_options.noise_multiplier = 1.0": {"privacy.mechanism_options.noise_multiplier",
			"privacy.mechanism"},
		"[privacy]\nsecure_aggregation_options.threshold = 0.5": {"privacy.secure_aggregation_options.threshold",
			"privacy.secure_aggregation"},
		"[compression]\nup_options.levels = 4": {"compression.up_options.levels", "compression.up"},
		"[federation]\npartial = \"drop\"":     {"federation.partial", "federation.partial_share"},

		// such as the scenario of a run directory
		"[privacy]\nmechanism = \"none\"\nmechanism_options.clip = 2.0":    nil,
		"[privacy]\nmechanism = \"central\"\nmechanism_options.clip = 2.0": nil,
		"[compression]\ndown = \"qsgd\"\ndown_options.levels = 4":          nil,
		"[federation]\npartial_share = 0.5\npartial = \"drop\"":            nil,
		"": nil,
	} {
		s, err := Parse("x.toml", []byte(source+methods), nil)
		expect.Must(t, err == nil, "%q: %v", source, err)
		if want != nil {
			want = []string{want[0] + " has no effect: " + want[1] + " is not set"}
		}
		expect.That(t, slices.Equal(s.Notes, want), "%q: notes %q, want %q", source, s.Notes, want)
	}
	// A method that turns the key on for itself.
	s, err := Parse("x.toml", []byte("[compression]\nup_options.levels = 4\n"+methods+
		"set = { \"compression.up\" = \"qsgd\" }\n"), []string{"privacy.mechanism_options.clip=2"})
	want := []string{"privacy.mechanism_options.clip has no effect: privacy.mechanism is not set"}
	if err != nil || !slices.Equal(s.Notes, want) {
		t.Errorf("notes %q, error %v", s.Notes, err)
	}
}
