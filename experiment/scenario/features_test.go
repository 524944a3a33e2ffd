package scenario

import (
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/internal/rooms"
)

// unclaimed returns the keys of rooms that declare no traits, and declared ones that are none.
func unclaimed(list []*rooms.Room) (missing, unknown []string) {
	for _, r := range list {
		var keys, declared []string
		for _, k := range r.Keys {
			for _, f := range config.Fields(k.New()) {
				keys = append(keys, k.Table+k.In+"."+f.Key)
			}
		}
		for _, t := range r.Traits {
			declared = append(append(declared, t.Key), t.With...)
		}
		for _, key := range keys {
			inside := func(other string) bool { return strings.HasPrefix(other, key+".") }
			if !slices.Contains(declared, key) && !slices.ContainsFunc(keys, inside) {
				missing = append(missing, key)
			}
		}
		for _, key := range declared {
			if !slices.Contains(keys, key) {
				unknown = append(unknown, key)
			}
		}
	}
	return missing, unknown
}

// Each key of a room says what it claims, or the key without which it has no effect.
func TestKeysOfRoomsDeclareTraits(t *testing.T) {
	if missing, unknown := unclaimed(rooms.All()); missing != nil || unknown != nil {
		t.Errorf("no traits: %q; no keys: %q", missing, unknown)
	}
	type table struct {
		A int `toml:"a"`
		B int `toml:"b"`
	}
	bad := rooms.Room{Keys: []rooms.Keys{{Table: "x", New: func() any { return new(table) }}},
		Traits: []rooms.Trait{{Key: "x.a", With: []string{"x.c"}}}}
	if missing, unknown := unclaimed([]*rooms.Room{&bad}); !slices.Equal(missing, []string{"x.b"}) ||
		!slices.Equal(unknown, []string{"x.c"}) {
		t.Errorf("found %q and %q", missing, unknown)
	}
}

// claimAll are the keys of the spine that claim all traits, by table: rules of their own say what they do not go with.
var claimAll = map[string]string{
	"data": `source path preset fallback target test_fraction validation_fraction test_rows seed split_seed standardize
		bias skew resident precision clients_per_task pool positive_class client_column new_clients new_rows new_steps
		memory_mb encoder_flops
		label_column columns drop_columns missing arrays.features arrays.targets arrays.clients
		partition.method partition.clients partition.merge partition.shards partition.alpha partition.exponent
		partition.classes partition.rows_min synthetic.clients synthetic.features synthetic.rows_min
		synthetic.rows_max synthetic.rows_deviation synthetic.clusters synthetic.classes synthetic.factors
		synthetic.positive_share synthetic.cluster_spread synthetic.client_spread synthetic.shift
		synthetic.margin synthetic.difficulty_spread synthetic.noise synthetic.target_noise alpha_beta.clients
		alpha_beta.features alpha_beta.classes alpha_beta.alpha alpha_beta.beta alpha_beta.iid external.clients
		external.rows external.features`,
	"problem": `loss model model_options.hidden program.command program.processes program.timeout_s
		loss_options.smoothing loss_scaling regularizer lambda sigma_prime gamma
		regularizer_options.convention regularizer_options.lambda1 regularizer_options.lambda2
		regularizer_options.omega_file regularizer_options.clusters regularizer_options.eta
		regularizer_options.cluster_count regularizer_options.prior_precision
		regularizer_options.omega_update regularizer_options.omega_decay regularizer_options.omega_floor
		regularizer_options.warm_start optimum.when optimum.gap optimum.sweeps`,
	"devices": `profile clock_ghz flops_per_cycle idle_w compute_w battery.wh speed_distribution speed_spread
		battery.start battery.start_spread charging.when charging.watts charging.from_h
		charging.spread_h charging.hours battery.return_at battery.low battery.when_low model_options
		heat.j_per_k heat.ambient_c heat.throttle_c heat.recover_c heat.throttle_clock`,
	"network": `profile downlink_mbps uplink_mbps rtt_ms rate_spread jitter loss_probability wire.factor
		wire.burst_bytes hubs.profile shared.server_down_mbps shared.cells shared.cell_down_mbps
		shared.cell_share shared.capacity
		shared.cell_up_mbps wire.slow_start shared.rush_from_h shared.rush_to_h shared.rush_share
		wire.idle_timeout_s wire.resends wire.retransmit wire.resume_bytes wire.reconnect_s
		wire.header_bytes wire.bytes_per_value model_options`,
	"overhead": `launches_per_step client_poll_s server_poll_s launch_poll_s launch_s launch_gflop cold_start_s
		poll_phase`,
	"fleet":  `devices links link_speed_correlation data_speed_correlation assignment`,
	"faults": `drop_probability never outage.share outage.from_s outage.to_s on_return drop_phase`,
	"traces": `assignment wrap availability.level availability.mean_up_s availability.mean_down_s availability.daily
		availability.peak_hour availability.zones_h fading.mean_s`,
	"federation": `protocol deadline_s population
		cost clients_per_round selection min_reports nonfinite late
		server_gflops protocol_options selection_options`,
	"engine": `detect_s overhead_bytes`,
	"run": `mode rounds outer eval_every eval_clients client_metrics clients_every theta_every devices save_model stop_at
		max_time_s report_last metric seeds vary targets`,
}

// Each key of a scenario has traits, or is decided to need none.
func TestKeysAreDecided(t *testing.T) {
	decided := map[string]bool{}
	for _, x := range allTraits() {
		for _, key := range append(slices.Clone(x.With), x.Key) {
			decided[key] = true
		}
	}
	for table, keys := range claimAll {
		for key := range strings.FieldsSeq(keys) {
			if key = table + "." + key; decided[key] {
				t.Errorf("%s claims all, and has traits", key)
			}
			decided[key] = true
		}
	}
	for _, f := range settingFields() {
		if f.Type != "table" && !decided[f.Key] && !strings.HasPrefix(f.Key, "methods") {
			t.Errorf("%s has no traits, and is not in claimAll: does it go with lazy populations, relative costs, "+
				"a driver, shared rounds?", f.Key)
		}
		delete(decided, f.Key)
	}
	for key := range decided {
		t.Errorf("%s is no key", key)
	}
}

// Without anything set, no key with traits is in use.
func TestKeysAreOffByDefault(t *testing.T) {
	s := defaultSettings()
	for trait, value := range s.traits() {
		t.Errorf("%s = %v is in use", trait.Key, value)
	}
}
