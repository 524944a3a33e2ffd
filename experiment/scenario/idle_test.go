package scenario

import (
	"slices"
	"testing"
)

func TestNotesOfKeysWithoutEffect(t *testing.T) {
	const methods = "\n[methods.fedavg]\noptions = { epochs = 2, weights = \"equal\" }\n"
	for source, want := range map[string][]string{
		"[privacy]\nnoise_multiplier = 1.0": {"privacy.noise_multiplier has no effect: privacy.mechanism is not set"},
		"[privacy]\nthreshold = 0.5":        {"privacy.threshold has no effect: privacy.secure_aggregation is not set"},
		"[compression]\nlevels = 4":         {"compression.levels has no effect: compression.up is not set"},
		"[federation]\npartial = \"drop\"":  {"federation.partial has no effect: federation.partial_share is not set"},

		"[privacy]\nmechanism = \"none\"\nclip = 2.0":           nil, // such as the scenario of a run directory
		"[privacy]\nmechanism = \"central\"\nclip = 2.0":        nil,
		"[compression]\ndown = \"qsgd\"\nlevels = 4":            nil,
		"[federation]\npartial_share = 0.5\npartial = \"drop\"": nil,
		"": nil,
	} {
		s, err := Parse("x.toml", []byte(source+methods), nil)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		if !slices.Equal(s.Notes, want) {
			t.Errorf("%q: notes %q, want %q", source, s.Notes, want)
		}
	}
	// A method that turns the key on for itself.
	s, err := Parse("x.toml", []byte("[compression]\nlevels = 4\n"+methods+"set = { \"compression.up\" = \"qsgd\" }\n"), []string{"privacy.clip=2"})
	if err != nil || !slices.Equal(s.Notes, []string{"privacy.clip has no effect: privacy.mechanism is not set"}) {
		t.Errorf("notes %q, error %v", s.Notes, err)
	}
}
