package data

import (
	"cmp"
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/internal/tools/elements"
)

// The sources of a set.
const (
	SourceSynthetic = "synthetic"
	SourceHAR       = "uci-har"
	SourceCSV       = "csv"
	SourceIDX       = "idx"
	SourceLEAF      = "leaf"
	SourceMATLAB    = "matlab"
	SourceLIBSVM    = "libsvm"
	SourceNPZ       = "npz"
	SourceParquet   = "parquet"
	SourceExternal  = "external"
	SourceAlphaBeta = "alpha-beta"
)

// Config is the table [data] of a scenario: the source, the split and the preparation of
// the set. Keys of other sources must have their defaults.
type Config struct {
	// synthetic (generated), uci-har (the UCI archive, packed or unpacked), csv (one file with a
	// header), idx (MNIST and the like), leaf (JSON of the LEAF benchmark), matlab (a MATLAB 5
	// file), libsvm (text of LIBSVM or SVMlight), npz (arrays of NumPy, or a folder of fedsim data
	// export), parquet (one file), alpha-beta (generated: synthetic(alpha, beta) of the FedProx
	// paper) or external (a learner in another process has the data)
	Source string `toml:"source"`
	// the file or folder of the source (docs/data.md). Searched beside the scenario (not for a path from
	// --set), in the working directory, then in the folder of the environment variable FEDSIM_DATA
	Path string `toml:"path" absent:"\"\": no file, for generated sets"`
	// a generated set with the sizes of the paper's Table 2: human-activity, google-glass or
	// vehicle-sensor, or mnist-sized (one client, 784 features)
	Preset string `toml:"preset" absent:"\"\": a small set, changed by [data.synthetic]"`
	// sources with a file: the preset of a generated set that is used if the file does not exist, which
	// fedsim prints and records
	Fallback string `toml:"fallback" absent:"\"\": a missing file is an error"`
	// type of the targets: class (two classes, labels -1 and +1; the error is the share of wrong
	// signs), classes (several classes; the error is the share of rows whose class does not have
	// the largest score) or real (any number; the error is the root mean square error). real needs
	// the loss squared or absolute
	Target string `toml:"target"`
	// share of each client's rows held out, in [0, 1); 0: none
	TestFraction float64 `toml:"test_fraction"`
	// share of each client's training rows held out for choices, such as tuned options and stopping
	// rules, in [0, 1); 0: none (docs/data.md)
	Validation float64 `toml:"validation_fraction"`
	// test rows of a source with published test rows, such as idx and leaf: own (the published
	// rows; test_fraction must have its default) or random (all rows together, divided by
	// test_fraction)
	TestRows string `toml:"test_rows"`
	// seed of generation, partition, split and skew. It differs from the seed of a run, so runs
	// share their data
	Seed uint64 `toml:"seed"`
	// seed of holding out rows, skew and clients_per_task: another divides the same rows differently
	Split uint64 `toml:"split_seed" absent:"0: data.seed"`
	// Shift is added to the seed of the split, for run.vary.
	Shift uint64 `toml:"-"`
	// give each feature mean 0 and variance 1 over the training rows of all clients
	Standardize bool `toml:"standardize"`
	// append a feature that is always 1
	Bias bool `toml:"bias"`
	// remove training rows so that the sizes of clients differ widely (the paper's Table 3): the
	// largest stays, the smallest has so many, and the sizes of others are uniform between these and
	// their own
	Skew int `toml:"skew" absent:"0: all rows stay"`
	// keep the rows in memory; false: generate them again each time a client uses them, for
	// generated sets larger than memory (about 1 µs a row of 30 features)
	Resident bool `toml:"resident"`
	// type of the rows in memory: float64, or float32 in half the space. Values are rounded last,
	// and arithmetic is in float64: a run has the bits of one on rows rounded to float32
	Precision string `toml:"precision"`
	// clients among which the training rows of each client of the set are divided; they share its
	// task (paper, remark 4)
	ClientsPerTask int `toml:"clients_per_task"`
	// all clients share one task, so one global model is learned (paper, Table 1 and remark 4);
	// errors over clients are still means over the clients of the set
	Pool bool `toml:"pool"`
	NewClientsConfig
	DeviceConfig
	// sources with a file, for target = "class": the class with label +1; all others have -1.
	PositiveClass string `toml:"positive_class" absent:"\"\": SITTING for uci-har, otherwise the second of two classes"`
	ColumnsConfig

	// names of the arrays in a file of matlab or npz
	Arrays ArraysConfig `toml:"arrays"`

	// division of a set without clients
	Partition PartitionConfig `toml:"partition"`

	// parameters of the generator; the preset has the values that are not set
	Synthetic SyntheticConfig `toml:"synthetic"`

	// parameters of source alpha-beta
	AlphaBeta AlphaBetaConfig `toml:"alpha_beta"`

	// clients and rows of data that a learner or the program of an external model has
	External ExternalConfig `toml:"external"`

	// Holds is the memory that the method takes on a device, at most; unused without MemoryMB.
	Holds Holding `toml:"-"`

	// Folds, if it is not 0, makes fold number Fold of so many of the training rows, see [Fold], the validation rows.
	Folds int `toml:"-"`
	Fold  int `toml:"-"`
}

// NewClientsConfig are the keys about clients that take no part in training.
type NewClientsConfig struct {
	// share of the clients that are new, in [0, 1), at least one of them; 0: none. They are drawn by
	// data.seed and data.split_seed, and take no part: a method gives them a model at evaluations
	// (docs/methods.md#new-clients)
	NewClients float64 `toml:"new_clients"`
	// training rows from which a new client gets its model, each number in turn; one with fewer rows
	// uses all it has; empty: new clients take no part, and are not evaluated
	NewRows RowCounts `toml:"new_rows"`
	// gradient steps on all its rows that a new client takes from the model that it is sent, where
	// its method has no other way to a model
	NewSteps int `toml:"new_steps"`
}

// DeviceConfig are the keys about what a device has and makes of its rows.
type DeviceConfig struct {
	// memory of a client for its models and its training rows, in 10^6 bytes; that of client k has entry k mod n. It
	// trains on the first of its rows that fit. One without room for a row is not asked, takes no part, and is not
	// evaluated (docs/methods.md#memory)
	MemoryMB Megabytes `toml:"memory_mb" absent:"[]: any"`
	// FLOPs of an encoder that makes the features of a row, which a device does in its first attempt
	// (docs/data.md#features-of-an-encoder)
	EncoderFLOPs float64 `toml:"encoder_flops" absent:"0: features are data"`
}

// ColumnsConfig are the keys about the columns of a table.
type ColumnsConfig struct {
	// csv, parquet: name of the column that names the client; empty: all rows are of one client
	ClientColumn string `toml:"client_column"`
	// csv, parquet: name of the column of labels, numbers or text, or of real targets
	LabelColumn string `toml:"label_column"`
	// csv, parquet: names of the columns that are features; * in a name stands for any text. Features are
	// in the order of the file
	Columns Names `toml:"columns" absent:"[]: all but client and label"`
	// csv, parquet: names of columns to leave out, as for columns
	DropColumns Names `toml:"drop_columns"`
	// csv, parquet: what to do with missing values (an empty field, NA, N/A, NaN, null or ?):
	// error, drop (leave out their rows) or mean (each is the mean of the feature over the training
	// rows of all clients that have it; rows without client or label remain errors)
	Missing string `toml:"missing"`
}

// SyntheticConfig is the table [data.synthetic]: the sizes of a generated set and the
// shape of its problem. Sizes of 0 and negative shapes are taken from the preset
// (Config.Preset; if empty, a small set).
type SyntheticConfig struct {
	// number of clients m
	Clients int `toml:"clients" absent:"0: the preset's"`
	// number of features d, without the bias
	Features int `toml:"features" absent:"0: the preset's"`
	// training rows of the smallest client after a split with test_fraction 0.25 (a third more in
	// total)
	RowsMin int `toml:"rows_min" absent:"0: the preset's"`
	// training rows of the largest client, as for rows_min
	RowsMax int `toml:"rows_max" absent:"0: the preset's"`
	// sample standard deviation of the training rows over clients; if only rows_min or rows_max is
	// set, it is that of a uniform distribution
	RowsDeviation float64 `toml:"rows_deviation" absent:"0: the preset's"`
	// number of clusters of related clients; client t belongs to cluster t mod clusters
	Clusters int `toml:"clusters" absent:"0: the preset's"`
	// number of classes, with target = "classes" only
	Classes int `toml:"classes" absent:"0: the preset's"`
	// number of latent factors of the features
	Factors int `toml:"factors" absent:"0: the preset's"`

	// share of rows with label +1, in (0, 1); with target = "class" only:
	// several classes have about equal shares
	PositiveShare float64 `toml:"positive_share" absent:"-1: the preset's"`
	// length of a cluster's deviation from the direction common to all clients, which has length 1
	ClusterSpread float64 `toml:"cluster_spread" absent:"-1: the preset's"`
	// length of a client's deviation from its cluster's direction
	ClientSpread float64 `toml:"client_spread" absent:"-1: the preset's"`
	// standard deviation of a client's own offset of each feature
	Shift float64 `toml:"shift" absent:"-1: the preset's"`
	// half the width of the gap between two classes, in standard deviations of the latent score; of
	// several classes, the distance by which a row is moved in the direction of its class; not for
	// real targets
	Margin float64 `toml:"margin" absent:"-1: the preset's"`
	// standard deviation over clients of the logarithm of the margin, or of that of target_noise
	DifficultySpread float64 `toml:"difficulty_spread" absent:"-1: the preset's"`
	// share of labels replaced at random by another class, in [0, 0.5); not
	// for real targets
	Noise float64 `toml:"noise" absent:"-1: the preset's"`
	// real targets only: standard deviation of the noise on the latent score, which has mean 0 and
	// standard deviation 1
	TargetNoise float64 `toml:"target_noise" absent:"-1: the preset's"`
}

// SplitSeed returns the seed of the split.
func (c *Config) SplitSeed() uint64 { return cmp.Or(c.Split, c.Seed) + c.Shift }

// Defaults returns the configuration of a small generated set: 20 tasks in 3 clusters,
// 40 features, 60 to 180 training rows, and a quarter of the rows for testing.
func Defaults() Config {
	return Config{
		Source:           SourceSynthetic,
		Target:           TargetClass,
		TestFraction:     defaultTestFraction,
		TestRows:         TestRowsOwn,
		Seed:             1,
		ClientsPerTask:   1,
		NewClientsConfig: NewClientsConfig{NewRows: NewRowCounts(0, 1, 5, 20), NewSteps: 5},
		Resident:         true,
		Precision:        PrecisionDouble,
		ColumnsConfig:    ColumnsConfig{ClientColumn: "client", LabelColumn: "label", Missing: MissingError},
		Partition:        defaultPartition(),
		AlphaBeta:        defaultAlphaBeta(),
		External:         ExternalConfig{Rows: "1"},
		Synthetic: SyntheticConfig{
			PositiveShare: unset, ClusterSpread: unset, ClientSpread: unset, Shift: unset,
			Margin: unset, DifficultySpread: unset, Noise: unset, TargetNoise: unset,
		},
	}
}

// Resolve returns the configuration with all values of the preset written out; it gives
// the same set. Shapes that do not affect the kind of target are unchanged. For uci-har it
// writes out the positive class.
func (c Config) Resolve() Config {
	switch {
	case c.Source == SourceSynthetic:
		c.Synthetic = c.Synthetic.over(presetOf(c.Preset), c.Target)
	case c.Source == SourceHAR && c.Target == TargetClass && c.PositiveClass == "":
		c.PositiveClass = "SITTING"
	}
	return c
}

// Validate reports all errors in the configuration. It does not read files.
func (c Config) Validate(check *config.Checker) { c.validate(check, true) }

// ValidateSizes is Validate for callers of [Sizes] only: the number of rows that are
// never generated is unlimited.
func (c Config) ValidateSizes(check *config.Checker) { c.validate(check, !c.countable()) }

// unset is the value of shapes of the generator that a configuration leaves to the preset.
const unset = -1

// countable reports whether [Sizes] can count the rows without generating them.
func (c Config) countable() bool {
	return c.Source == SourceExternal ||
		c.Source == SourceSynthetic && c.Skew == 0 && c.ClientsPerTask <= 1 && c.NewClients == 0 &&
			c.Partition.Method == ""
}

// validate checks the configuration. made says whether rows are generated or only
// counted.
func (c Config) validate(check *config.Checker, made bool) {
	check.OneOf("source", c.Source, sources().Names()...)
	check.OneOf("target", c.Target, TargetClass, TargetClasses, TargetReal)
	check.Require(c.TestFraction >= 0 && c.TestFraction < 1, "test_fraction", c.TestFraction, "must be in [0, 1)")
	check.Require(c.Validation >= 0 && c.Validation < 1, "validation_fraction", c.Validation, "must be in [0, 1)")
	check.OneOf("test_rows", c.TestRows, TestRowsOwn, TestRowsRandom)
	check.Require(c.Skew >= 0, "skew", c.Skew, "must be at least 1")
	check.OneOf("precision", c.Precision, PrecisionDouble, PrecisionSingle)
	check.Require(c.ClientsPerTask >= 1, "clients_per_task", c.ClientsPerTask, "must be at least 1")
	check.Require(c.Resident || c.streamable(), "resident", c.Resident,
		"must be true unless the set is generated, without standardize, skew, clients_per_task and partition: "+
			"other sets cannot be generated again client by client")
	c.validateNew(check)
	c.validateMemory(check)
	check.Require(c.EncoderFLOPs >= 0 && c.EncoderFLOPs <= 1e18, "encoder_flops", c.EncoderFLOPs,
		"must be in [0, 1e18]")
	c.validatePartition(check)
	source, known := c.source()
	if !known {
		return // the keys of an unknown source are unknown
	}
	if c.Source != SourceExternal {
		source.validatePath(check, c.Path)
	}
	switch c.Source {
	case SourceHAR:
		check.Require(c.Target != TargetReal, "target", c.Target,
			"must be \"class\" or \"classes\" when source is \"uci-har\": its labels are activities")
	case SourceParquet, SourceCSV:
		c.validateColumns(check)
	case SourceAlphaBeta:
		c.AlphaBeta.validate(check, c.Target)
	case SourceExternal:
		c.validateExternal(check)
	}
	check.Require(c.Target == TargetClass || c.PositiveClass == "", "positive_class", c.PositiveClass,
		fmt.Sprintf("has no effect when target is %q", c.Target))
	c.validateForeign(check, &source)
	c.validateFallback(check, &source, made)
	if c.Source == SourceSynthetic {
		check.OneOfOrEmpty("preset", c.Preset, presets.Names()...)
		if c.Preset != "" && presetOf(c.Preset) == nil {
			return
		}
		c.Resolve().Synthetic.validate(check.In("synthetic"), c.Target, made)
	}
}

// validateForeign reports keys of other sources that are set. Keys of the generator are
// allowed with a file, so that a scenario on generated data runs on real data if source
// and path are set.
func (c Config) validateForeign(check *config.Checker, source *source) {
	standard := Defaults()
	source.validateKey(check, "positive_class", c.PositiveClass, c.PositiveClass == standard.PositiveClass)
	source.validateKey(check, "arrays.features", c.Arrays.Features, c.Arrays.Features == "")
	source.validateKey(check, "arrays.targets", c.Arrays.Targets, c.Arrays.Targets == "")
	source.validateKey(check, "arrays.clients", c.Arrays.Clients, c.Arrays.Clients == "")
	source.validateKey(check, "test_rows", c.TestRows, c.TestRows == standard.TestRows)
	source.validateKey(check, "client_column", c.ClientColumn, c.ClientColumn == standard.ClientColumn)
	source.validateKey(check, "label_column", c.LabelColumn, c.LabelColumn == standard.LabelColumn)
	source.validateKey(check, "columns", c.Columns.list(), c.Columns == "")
	source.validateKey(check, "drop_columns", c.DropColumns.list(), c.DropColumns == "")
	source.validateKey(check, "missing", c.Missing, c.Missing == standard.Missing)
	source.validateKey(check, "alpha_beta", c.AlphaBeta.name(), c.AlphaBeta == standard.AlphaBeta)
	source.validateKey(check, "external.clients", c.External.Clients, c.External.Clients == standard.External.Clients)
}

// validateColumns checks the choice of columns of a table.
func (c Config) validateColumns(check *config.Checker) {
	check.Require(c.LabelColumn != "", "label_column", c.LabelColumn, "must name a column")
	check.Require(c.LabelColumn != c.ClientColumn, "label_column", c.LabelColumn, "must differ from client_column")
	check.OneOf("missing", c.Missing, MissingError, MissingDrop, MissingMean)
}

// validate checks a resolved table: all values that affect the kind of target are set,
// and no others. It limits the number of generated rows.
func (s SyntheticConfig) validate(check *config.Checker, target string, made bool) {
	sizes := true
	positive := func(key string, value int) {
		ok := value >= 1 && value <= elements.Most
		check.Require(ok, key, value, fmt.Sprintf("must be in [1, %d]", elements.Most))
		sizes = sizes && ok
	}
	positive("clients", s.Clients)
	positive("features", s.Features)
	positive("rows_min", s.RowsMin)
	positive("rows_max", s.RowsMax)
	positive("clusters", s.Clusters)
	positive("factors", s.Factors)
	if sizes {
		s.validateSizes(check, made)
	}
	within := func(key string, value, low, high float64, open bool, want string) {
		ok := value >= low && value <= high && !(open && (value == low || value == high))
		check.Require(ok, key, value, want)
	}
	within("cluster_spread", s.ClusterSpread, 0, 1e3, false, "must be in [0, 1000]")
	within("client_spread", s.ClientSpread, 0, 1e3, false, "must be in [0, 1000]")
	within("shift", s.Shift, 0, 1e3, false, "must be in [0, 1000]")
	within("difficulty_spread", s.DifficultySpread, 0, 5, false, "must be in [0, 5]")
	foreign := func(key string, value float64) {
		check.Require(value == unset, key, value, fmt.Sprintf("has no effect when target is %q", target))
	}
	switch target {
	case TargetClass:
		within("positive_share", s.PositiveShare, 0, 1, true, "must be in (0, 1)")
	case TargetClasses:
		check.Require(s.Classes >= 2 && s.Classes <= mostClasses, "classes", s.Classes,
			fmt.Sprintf("must be in [2, %d]", mostClasses))
		foreign("positive_share", s.PositiveShare)
	case TargetReal:
		within("target_noise", s.TargetNoise, 0, 1e3, false, "must be in [0, 1000]")
		foreign("positive_share", s.PositiveShare)
		foreign("margin", s.Margin)
		foreign("noise", s.Noise)
	}
	check.Require(target == TargetClasses || s.Classes == 0, "classes", s.Classes,
		fmt.Sprintf("has no effect when target is %q", target))
	if target != TargetReal {
		within("margin", s.Margin, 0, 1e3, false, "must be in [0, 1000]")
		check.Require(s.Noise >= 0 && s.Noise < 0.5, "noise", s.Noise, "must be in [0, 0.5)")
		foreign("target_noise", s.TargetNoise)
	}
}

// validateSizes checks valid sizes against each other.
func (s SyntheticConfig) validateSizes(check *config.Checker, made bool) {
	check.Require(s.Clusters <= s.Clients, "clusters", s.Clusters,
		fmt.Sprintf("must be at most clients = %d", s.Clients))
	check.Require(s.Factors <= s.Features, "factors", s.Factors,
		fmt.Sprintf("must be at most features = %d", s.Features))
	check.Require(s.RowsMin <= s.RowsMax, "rows_min", s.RowsMin,
		fmt.Sprintf("must be at most rows_max = %d", s.RowsMax))
	if s.RowsMin <= s.RowsMax {
		low, high := attainableDeviation(s.Clients, s.RowsMin, s.RowsMax)
		const slack = 1e-9 // the bounds are rounded, and so may be deviations equal to them
		check.Require(s.RowsDeviation >= low*(1-slack) && s.RowsDeviation <= high*(1+slack),
			"rows_deviation", s.RowsDeviation,
			fmt.Sprintf("must be in [%.4g, %.4g]: with %d clients of %d to %d rows no other value is possible",
				math.Floor(low*100)/100, math.Ceil(high*100)/100, s.Clients, s.RowsMin, s.RowsMax))
	}
	directions := float64(max(1, s.Classes)) * float64(s.Clusters) * float64(s.Factors)
	check.Require(directions <= elements.Most, "clusters", s.Clusters,
		fmt.Sprintf("clusters x classes x factors must be at most %d values, it is %.4g", elements.Most, directions))
	cells := float64(s.Clients) * float64(s.RowsMax) * float64(s.Features)
	check.Require(!made || cells <= elements.Most, "clients", s.Clients,
		fmt.Sprintf("clients x rows_max x features must be at most %d values, it is %.4g", elements.Most, cells))
}
