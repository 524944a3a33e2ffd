package scenario

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// mocha is the least a scenario needs.
const mocha = "[methods.mocha]\n"

// fedavgEqual is a method whose updates [privacy] may protect.
const fedavgEqual = "[methods.fedavg]\noptions.weights = \"equal\"\n"

// Every kind of mistake, with the whole text of the message.
func TestErrors(t *testing.T) {
	names := strings.Join(algorithms.Names(), ", ")
	for _, test := range []struct {
		name, source string
		set          []string
		want         string
	}{
		{"value out of range", "[faults]\ndrop_probability = 1.4\n" + mocha, nil,
			"x.toml:2:20: faults.drop_probability = 1.4: must be in [0, 1]"},
		{"a level beside a fleet", "[fleet]\nname = \"mixed\"\nlinks = \"mild\"\n" + mocha, nil,
			`x.toml:3:9: fleet.links = "mild": cannot be combined with name`},
		{"no level", "[fleet]\ndevices = \"milde\"\n[traces.availability]\nlevel = \"some\"\n" + mocha, nil,
			"x.toml:2:11: fleet.devices = \"milde\": must be one of none, mild, middle, " +
				"severe (did you mean \"mild\"?)\nx.toml:4:9: traces.availability.level = \"some\": " +
				"must be one of none, mild, middle, severe (did you mean \"none\"?)"},
		{"a level beside times", "[traces.availability]\nlevel = \"mild\"\nmean_down_s = 60\n" + mocha, nil,
			`x.toml:2:9: traces.availability.level = "mild": cannot be combined with mean_up_s, ` +
				`mean_down_s and daily, which it sets`},
		{"grams without a grid", "[energy]\nserver_w = 9\n" + mocha, nil,
			"x.toml:2:12: energy.server_w = 9: has no effect without energy.grid: name files of grid_g_per_kwh, " +
				"or remove the key"},
		{"a server nowhere", "[energy]\ngrid = [\"g.csv\"]\nserver_w = 9\n" + mocha, nil,
			"x.toml:3:12: energy.server_w = 9: needs energy.server_place: the server's energy has the intensity of a " +
				"place"},
		{"a data center without a server", "[energy]\ngrid = [\"g.csv\"]\npue = 1.5\n" + mocha, nil,
			"x.toml:3:7: energy.pue = 1.5: has no effect without energy.server_w: set it, or remove the key"},
		{"a data center that gains", "[energy]\ngrid = [\"g.csv\"]\npue = 0.5\nnetwork_kwh_per_gb = -1\n" + mocha, nil,
			"x.toml:4:22: energy.network_kwh_per_gb = -1: must be a number that is not negative\n" +
				"x.toml:3:7: energy.pue = 0.5: must be at least 1: the data center takes what the server does and " +
				"more"},
		{"grams without joules", "[energy]\ngrid = [\"g.csv\"]\n[federation]\ncost = \"relative\"\n" + mocha, nil,
			`x.toml:2:8: energy.grid = ["g.csv"]: must be empty with federation.cost = "relative" or "authors", ` +
				`under which there is no energy`},
		{"clean hours without a grid", "[federation]\nselection = \"clean\"\n" + mocha, nil,
			`x.toml:2:13: federation.selection = "clean": must be another without energy.grid: ` +
				`it chooses by the intensity of the grids of clients`},
		{"a budget of grams without a grid", "[run]\nmax_co2_g = 5\n" + mocha, nil,
			"x.toml:2:13: run.max_co2_g = 5: must be 0 without energy.grid: no grams are counted"},
		{"grams to draw",
			mocha + "[energy]\ngrid = [\"g.csv\"]\n[[experiment]]\nname = \"a\"\n[experiment.figure]\n" +
				"x = \"co2_network_g\"\n", nil,
			`x.toml:4:1: experiment a: figure.x = "co2_network_g" has no values: set energy.grid, ` +
				`and energy.network_kwh_per_gb or energy.server_w for grams of the network or the server`},
		{"nothing measured to draw", mocha + "[[experiment]]\nname = \"a\"\n[experiment.figure]\ny = \"theta\"\n", nil,
			"x.toml:2:1: experiment a: figure.y = \"theta\" has nothing to show: run.theta_every must be at least 1"},
		{"theta never", "[run]\ntheta_every = -1\n" + mocha, nil,
			"x.toml:2:15: run.theta_every = -1: must not be negative"},
		{"value out of range by override", mocha, []string{"faults.drop_probability=1.4"},
			"--set faults.drop_probability=1.4: must be in [0, 1]"},
		{"unknown key", "[faults]\n  drop_probabilty = 0.1\n" + mocha, nil,
			"x.toml:2:3: unknown key faults.drop_probabilty: did you mean drop_probability?"},
		{"nothing to stop at",
			"[run]\nstop_at = { suboptimality = 0.1 }\n[problem]\noptimum.when = \"never\"\n" + mocha, nil,
			"x.toml:2:11: run.stop_at = 0.1: must be of another metric when problem.optimum.when is " +
				"\"never\" or " +
				"problem.model is not \"linear\": without a reference optimum there is no sub-optimality to stop at"},
		{"nothing is split", "[run]\nvary = \"split\"\n[data]\ntest_fraction = 0\n" + mocha, nil,
			`x.toml:2:8: run.vary = "split": must be "system" or "all": all splits are the same without test rows, ` +
				`validation rows, skew and clients_per_task`},
		{"unknown metric", "[run]\ntargets = { test_eror = [0.1] }\n" + mocha, nil,
			`x.toml:2:11: run.targets = "test_eror": must be one of suboptimality, primal, gap, train_error, ` +
				`test_error, validation_error, train_error_clients, test_error_clients, validation_error_clients, ` +
				`train_accuracy, train_accuracy_clients, test_accuracy, test_accuracy_clients, validation_accuracy, ` +
				`validation_accuracy_clients (did you mean "test_error"?)`},
		{"per cent for a share", "[run]\ntargets = { test_error = [0.1, 8] }\nstop_at = { train_error = 2 }\n" + mocha,
			nil,
			"x.toml:2:26: run.targets.test_error = 8: must be in (0, 1]: it is a share of the rows, and 0.08 is 8 %\n" +
				"x.toml:3:27: run.stop_at.train_error = 2: must be in (0, 1]: it is a share of the rows, " +
				"and 0.08 is 8 %"},
		{"no test rows", "[run]\nstop_at = { test_error = 0.1 }\n[data]\ntest_fraction = 0\n" + mocha, nil,
			"x.toml:2:26: run.stop_at.test_error = 0.1: needs test rows…"},
		{"tuning to an unknown metric", mocha + "[[experiment]]\nname = \"e\"\ntuning.target = { accuracy = 0.9 }\n" +
			"tune.mocha.\"options.epochs\" = [1, 2]\n", nil,
			`x.toml:4:17: experiment.tuning.target = "accuracy": must be one of suboptimality, primal, gap, ` +
				`train_error, test_error, validation_error, train_error_clients, test_error_clients, ` +
				`validation_error_clients, train_accuracy, train_accuracy_clients, test_accuracy, ` +
				`test_accuracy_clients, validation_accuracy, validation_accuracy_clients (did you mean ` +
				`"test_accuracy"?)`},
		{"private sums of another method", "[privacy]\nsecure_aggregation = \"secagg\"\n" + mocha, nil,
			`x.toml:2:22: privacy.secure_aggregation = "secagg": must be "none", or the method one of apfl, ditto, ` +
				`fedadagrad, fedadam, fedavg, fedavgm, fedem, fedper, fedprox, fedrep, fedyogi, per-fedavg, pfedme: ` +
				`the server of mocha needs more than the sum of updates`},
		{"private mean by rows", "[privacy]\nmechanism = \"central\"\n[methods.fedavg]\n", nil,
			`x.toml:2:13: privacy.mechanism = "central": must be "none" unless fedavg has options.weights = "equal": ` +
				`every update counts the same`},
		{"noise without a clip",
			"[privacy]\nmechanism = \"central\"\nmechanism_options.clip = \"none\"\n" + fedavgEqual, nil,
			"x.toml:3:26: privacy.mechanism_options.clip = 0: must be positive, or " +
				"noise_multiplier 0: the noise is a multiple of it"},
		{"odd neighbors", "[privacy]\nsecure_aggregation = \"secagg+\"\nsecure_aggregation_options.neighbors = 3\n" +
			fedavgEqual, nil,
			`x.toml:3:40: privacy.secure_aggregation_options.neighbors = 3: must be an even number in [2, 1e6] ` +
				`with secure_aggregation = "secagg+"`},
		{"neighbors of secagg", "[privacy]\nsecure_aggregation_options.neighbors = 4\n" + fedavgEqual, nil,
			`x.toml:2:40: privacy.secure_aggregation_options.neighbors = 4: must be left out: ` +
				`only secure_aggregation = "secagg+" uses it`},
		{"an option of one protocol", "[federation]\nprotocol_options.over_selection = 1.5\n" + fedavgEqual, nil,
			"x.toml:2:35: federation.protocol_options.over_selection = 1.5: " +
				"must be left out: no method has protocol first or hedged"},
		{"an option of two protocols", "[federation]\nprotocol_options.retries = 1\n" + fedavgEqual, nil,
			"x.toml:2:28: federation.protocol_options.retries = 1: " +
				"must be left out: no method has protocol deadline, first or hedged"},
		{"an axis without values",
			fedavgEqual + "[[experiment]]\nname = \"a\"\n[experiment.figure]\nx = \"epsilon\"\ny = \"test_error\"\n",
			nil,
			"x.toml:3:1: experiment a: figure.x = \"epsilon\" has no values: privacy.mechanism " +
				"must not be \"none\""},
		{"a target without values", "[run]\ntargets = { epsilon = [1] }\n" + fedavgEqual, nil,
			`x.toml:2:11: run.targets = "epsilon": must be one of suboptimality, primal, gap, train_error, ` +
				`test_error, validation_error, train_error_clients, test_error_clients, validation_error_clients, ` +
				`train_accuracy, train_accuracy_clients, test_accuracy, test_accuracy_clients, validation_accuracy, ` +
				`validation_accuracy_clients`},
		{"unknown key by override", mocha, []string{"faults.drop_probabilty=0.1"},
			"--set faults.drop_probabilty=0.1: unknown key faults.drop_probabilty: did you mean drop_probability?"},
		{"key in another case", "[faults]\nNever = [0]\n" + mocha, nil,
			"x.toml:2:1: unknown key faults.Never: did you mean never?"},
		{"unknown table", "[fault]\nnever = [0]\n" + mocha, nil,
			"x.toml:1:1: unknown key fault: did you mean faults?"},
		{"unknown key of a nested table", "[data.synthetic]\nclient = 3\n" + mocha, nil,
			"x.toml:2:1: unknown key data.synthetic.client: did you mean clients?"},
		{"misspelt statistic over clients",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.figure]\ny = \"test_error_worst_10\"\n", nil,
			"x.toml:5:5: experiment.figure.y = \"test_error_worst_10\": must be one of suboptimality, primal, gap, " +
				"train_error, test_error, validation_error, train_error_clients, test_error_clients, " +
				"validation_error_clients, train_accuracy, train_accuracy_clients, test_accuracy, " +
				"test_accuracy_clients, validation_accuracy, validation_accuracy_clients, available, participants, " +
				"dropped, late, staleness, asked_more, canceled, theta (did you mean \"test_error_worst10\"?)"},
		{"options beside the keys of a method",
			"[methods.f]\nalgorithm = \"fedavg\"\nstep = 0.3\nepoch = 3\nlable = \"x\"\n", nil,
			"x.toml:3:1: unknown key methods.f.step: did you mean options.step?\n" +
				"x.toml:4:1: unknown key methods.f.epoch: did you mean options.epochs?\n" +
				"x.toml:5:1: unknown key methods.f.lable: did you mean label?"},
		{"option of a method in a sweep",
			"[methods.fedavg]\n[[experiment]]\nname = \"a\"\nsweep = { \"methods.fedavg.step\" = [1.0, 2.0] }\n", nil,
			"x.toml:4:36: unknown key methods.fedavg.step: did you mean options.step?\n" +
				"x.toml:4:41: unknown key methods.fedavg.step: did you mean options.step?"},
		{"option of a method by override", mocha, []string{"methods.mocha.epochs=3"},
			"--set methods.mocha.epochs=3: unknown key methods.mocha.epochs: did you mean options.epochs?"},
		{"unknown key of a method", "[methods.mocha]\nalgoritm = \"mocha\"\n", nil,
			"x.toml:2:1: unknown key methods.mocha.algoritm: did you mean algorithm?"},
		{"unknown option", "[methods.mocha]\noptions.epoch = 1\n", nil,
			"x.toml:2:1: unknown key methods.mocha.options.epoch: did you mean epochs?"},
		{"unknown key of an experiment", mocha + "[[experiment]]\nname = \"a\"\nsweeps = {}\n", nil,
			"x.toml:4:1: unknown key experiment[0].sweeps: did you mean sweep?"},
		{"unknown key of an axis",
			mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\npoint = []\n", nil,
			"x.toml:6:1: unknown key experiment[0].axis[0].point: did you mean points?"},
		{"unknown key of a figure", mocha + "[[experiment]]\nname = \"a\"\n[experiment.figure]\npannel = \"method\"\n",
			nil,
			"x.toml:5:1: unknown key experiment.figure.pannel: did you mean panel?"},
		{"unknown key in set", mocha + "[[experiment]]\nname = \"a\"\nset = { \"run.round\" = 3 }\n", nil,
			"x.toml:4:9: unknown key run.round: did you mean rounds?"},
		{"unknown key left out", mocha, []string{"federation.protcol="},
			"--set federation.protcol=: unknown key federation.protcol: did you mean protocol?"},
		{"unknown key in sweep", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.round\" = [3] }\n", nil,
			"x.toml:4:26: unknown key run.round: did you mean rounds?"},
		{"nothing near", "[network]\nzebra = 1\n" + mocha, nil,
			"x.toml:2:1: unknown key network.zebra: known are profile, downlink_mbps, uplink_mbps, rtt_ms, " +
				"rate_spread, jitter, loss_probability, radio, bytes_scale, shared, wire, hubs, model, " +
				"model_options"},
		{"wrong type", "[run]\nrounds = \"many\"\nseeds = [1, \"x\", -1]\n[problem]\nlambda = true\n[data]\n" +
			"source = 1\nskew = \"yes\"\n" + mocha, nil,
			`x.toml:2:10: run.rounds = "many": must be an integer
x.toml:3:13: run.seeds[1] = "x": must be an integer
x.toml:3:18: run.seeds[2] = -1: must be a whole number of 64 bits, not negative
x.toml:5:10: problem.lambda = true: must be a number
x.toml:7:10: data.source = 1: must be a string
x.toml:8:8: data.skew = "yes": must be an integer`},
		{"number for a list", "[run]\nseeds = 3\n" + mocha, nil,
			"x.toml:2:9: run.seeds = 3: must be a list of integers: write [3] or [1, 2, 3]"},
		{"number for a list by override", mocha, []string{"run.seeds=1e6"},
			"--set run.seeds=1e6: must be a list of integers: write [1e+06]"},
		{"text for a list", mocha, []string{"traces.files=a.csv"},
			"--set traces.files=a.csv: must be a list of strings: write [\"a.csv\"]"},
		{"integer that a float does not have", mocha, []string{"run.rounds=1e16"},
			"--set run.rounds=1e16: must be an integer"},
		{"fraction for an integer", "[run]\nrounds = 1.5\n" + mocha, nil,
			"x.toml:2:10: run.rounds = 1.5: must be an integer"},
		{"not finite", "[problem]\nlambda = nan\n" + mocha, nil,
			"x.toml:2:10: problem.lambda = NaN: must be a finite number"},
		{"table for a value", "[run.rounds]\n" + mocha, nil, "x.toml:1:1: run.rounds: is a table: must be an integer"},
		{"value for a table", "run = 5\n" + mocha, nil, "x.toml:1:7: run = 5: must be a table"},
		{"list for a value", mocha, []string{"run.rounds=[1,2]"},
			"--set run.rounds=[1,2]: run.rounds: is a list: must be an integer"},
		{"two mistakes in two places", "[run]\nrounds = -1\n[network]\nprofile = \"5g\"\n" + mocha, nil,
			"x.toml:4:11: network.profile = \"5g\": must be one of wifi, wifi-2012, lte, 3g, ble, " +
				"ethernet (did you mean \"3g\"?)\nx.toml:2:10: run.rounds = -1: must not be negative"},
		{"outer iterations without an end", "[run]\nmax_time_s = 1\nouter = 2\n" + mocha, nil,
			"x.toml:3:9: run.outer = 2: must be 1 with run.max_time_s and without run.rounds: " +
				"the first outer iteration would not end"},
		{"default at fault through another key", "[federation]\nprotocol = \"deadline\"\n" + mocha, nil,
			"x.toml:1:1: federation.deadline_s: must be given: protocol \"deadline\" needs the length of its " +
				"clock cycle"},
		{"default at fault through an override", mocha, []string{"federation.protocol=deadline"},
			"--set federation.protocol=deadline: federation.deadline_s: must be given…"},
		{"seeds", "[run]\nseeds = []\ntargets = { suboptimality = [0] }\n" + mocha, nil,
			"x.toml:2:9: run.seeds = []: must hold at least one seed\nx.toml:3:29: run.targets.suboptimality = 0: " +
				"must be positive"},
		{"seed twice", mocha, []string{"run.seeds=[1,1]"}, "--set run.seeds=[1,1]: must hold every seed once"},

		{"loss for labels on real targets", "[data]\ntarget = \"real\"\n[problem]\nloss = \"logistic\"\n" + mocha, nil,
			"x.toml:2:10: data.target = \"real\": needs a problem.loss for real targets (absolute, squared): " +
				"\"logistic\" takes the labels -1 and +1"},
		{"real targets by override", mocha, []string{"data.target=real", "problem.loss=hinge"},
			"--set data.target=real: needs a problem.loss…"},
		{"real targets with a loss that is none", "[data]\ntarget = \"real\"\n[problem]\nloss = \"square\"\n" + mocha,
			nil,
			"x.toml:4:8: problem.loss = \"square\": must be one of absolute, hinge, logistic, smoothed-hinge, " +
				"softmax, squared, squared-hinge (did you mean \"squared\"?)"},
		{"real targets of activities",
			"[data]\ntarget = \"real\"\nsource = \"uci-har\"\npath = \"har.zip\"\n[problem]\nloss = \"squared\"\n" +
				mocha, nil,
			"x.toml:2:10: data.target = \"real\": must be \"class\" or \"classes\"…"},
		{"smoothing", "[problem]\nloss_options.smoothing = 0\n" + mocha, nil,
			"x.toml:2:26: problem.loss_options.smoothing = 0: must be in [1e-6, 1e6]"},

		{"model that is not linked in", "[devices]\nmodel = \"foreground\"\n" + mocha, nil,
			"x.toml:2:9: devices.model = \"foreground\": must be left out…"},
		{"link model by override", mocha, []string{"network.model=gilbert"},
			"--set network.model=gilbert: must be left out…"},
		{"options without a model", mocha, []string{"network.model_options.p=1"},
			"--set network.model_options.p=1: network.model_options has no effect without network.model"},

		{"no method", "[run]\nrounds = 5\n", nil,
			"x.toml: there is no method to run: add a table such as [methods.mocha]"},
		{"unknown algorithm", "[methods.moca]\n", nil,
			"x.toml:1:1: methods.moca.algorithm = \"moca\": must be one of " + names + " (did you mean \"mocha\"?)"},
		{"unknown algorithm by key", "[methods.a]\nalgorithm = \"moca\"\n", nil,
			"x.toml:2:13: methods.a.algorithm = \"moca\": must be one of " + names + " (did you mean \"mocha\"?)"},
		{"models of clients that share tasks", "[methods.ditto]\n[data]\nclients_per_task = 3\n", nil,
			"x.toml:3:20: data.clients_per_task = 3: must be 1, or options.evaluate…"},
		{"models of clients of one task",
			"[data]\npool = true\n[methods.apfl]\n[methods.d]\nalgorithm = \"ditto\"\noptions.evaluate = \"global\"\n",
			nil,
			"x.toml:2:8: data.pool = true: must be false…"},
		{"mixtures of one task", "[data]\npool = true\n[methods.fedem]\n[problem]\nloss = \"logistic\"\n", nil,
			"x.toml:2:8: data.pool = true: must be false: fedem evaluates…"},
		{"more components than clients", "[methods.fedem]\noptions.components = 12\n[data]\n" +
			"source = \"synthetic\"\n[data.synthetic]\nclients = 9\n", nil,
			"x.toml:2:22: methods.fedem.options.components = 12: must be at most 9, the number of clients"},
		{"more clusters than clients", "[data]\nsource = \"synthetic\"\n[data.synthetic]\nclients = 3\n" +
			"[methods.ifca]\noptions.clusters = 4\n", nil,
			"x.toml:6:20: methods.ifca.options.clusters = 4: must be at most 3, the number of clients"},
		{"a loss without a likelihood", "[problem]\nloss = \"hinge\"\n[methods.fedem]\n", nil,
			"x.toml:2:8: problem.loss = \"hinge\": must be one of logistic, softmax, squared for fedem: others are " +
				"the logarithm of no likelihood"},
		{"nothing to share", "[problem]\nmodel = \"linear\"\n[methods.fedrep]\n", nil,
			`x.toml:2:9: problem.model = "linear": must be "mlp" for fedrep with options.personal = "head": a linear ` +
				`model has one layer, of which nothing would be shared; it has personal "features"`},
		{"bodies of linear models", "[problem]\nmodel = \"linear\"\n[methods.ifca]\noptions.shared = \"body\"\n",
			nil,
			`x.toml:2:9: problem.model = "linear": must be "mlp" for ifca with options.shared = "body": others have ` +
				`no layers`},
		{"label of a method", "[methods.\"a b\"]\nalgorithm = \"mocha\"\n", nil,
			"x.toml:1:1: methods.\"a b\": a method's label must consist of…"},
		{"option out of range", "[methods.mocha]\noptions = { epochs = -1 }\n", nil,
			"x.toml:2:22: methods.mocha.options.epochs = -1: must be in (0, 1e6], or \"fill\""},
		{"protocol of a method", "[methods.mocha]\nprotocol = \"dedline\"\n", nil,
			"x.toml:2:12: methods.mocha.protocol = \"dedline\": must be one of asynchronous, charged, compass, " +
				"deadline, first, hedged, wait-for-all (did you mean \"deadline\"?)"},
		{"protocol of a method without what goes with it", "[methods.mocha]\nprotocol = \"deadline\"\n", nil,
			"x.toml:2:12: federation.deadline_s: must be given…"},

		{"name of the scenario", "name = \"a b\"\n" + mocha, nil,
			"x.toml:1:8: name = \"a b\": must consist of…\n" +
				"x.toml:1:8: experiment.name = \"a b\": must consist of…"},
		{"name of an experiment", mocha + "[[experiment]]\nset = {}\n", nil,
			"x.toml:2:1: experiment.name = \"\": must consist of…"},
		{"experiment of too many letters", mocha + "[[experiment]]\nname = \"" + strings.Repeat("a", 101) + "\"\n", nil,
			"x.toml:3:8: experiment.name = \"" + strings.Repeat("a", 80) + "...\": must consist of…"},
		{"hidden experiment", mocha + "[[experiment]]\nname = \".ssh\"\n", nil,
			"x.toml:3:8: experiment.name = \".ssh\": must consist of at most 100 letters, digits, -, _ and ., " +
				"and begin with a letter, a digit or _"},
		{"file of a figure", mocha + "[[experiment]]\nname = \"a\"\nfigure.file = \"../../../x\"\n", nil,
			"x.toml:4:15: experiment.figure.file = \"../../../x\": must consist of…"},
		{"table of the past", mocha + "[[table]]\nname = \"x\"\n", nil,
			"x.toml:2:1: unknown key table: did you mean experiment.table, with experiment.tuning.folds and methods " +
				"of algorithm \"central\" (scenario table1)?"},
		{"published errors of another point", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [1, " +
			"2] }\ntable.published = { 3 = { mocha = [1, 2] } }\n", nil,
			"x.toml:5:19: experiment.table.published = \"3\": must be one of 1, 2"},
		{"published errors of another method", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [1, " +
			"2] }\ntable.published = { 2 = { moca = [1, 2] } }\n", nil,
			"x.toml:5:19: experiment.table.published = \"moca\": must be one of mocha (did you mean \"mocha\"?)"},
		{"published error without its standard error",
			mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [1, 2] }\n" +
				"table.published = { 2 = { mocha = [1] } }\n", nil,
			"x.toml:5:19: experiment.table.published.2.mocha = [1.0]: must be a mean and its standard error"},
		{"experiment twice", mocha + "[[experiment]]\nname = \"a\"\n[[experiment]]\nname = \"a\"\n", nil,
			"x.toml:5:8: two experiments are named a"},
		{"no experiments", "experiment = []\n" + mocha, nil,
			"x.toml:1:14: experiment must hold at least one experiment; without the key the base settings are one"},
		{"unknown method", mocha + "[methods.cocoa]\n[[experiment]]\nname = \"a\"\nmethods = [\"mocha\", \"coca\"]\n",
			nil,
			"x.toml:5:21: unknown method coca: did you mean cocoa?"},
		{"method twice", mocha + "[[experiment]]\nname = \"a\"\nmethods = [\"mocha\", \"mocha\"]\n", nil,
			"x.toml:4:21: experiment a: method mocha is listed twice"},
		{"no methods listed", mocha + "[[experiment]]\nname = \"a\"\nmethods = []\n", nil,
			"x.toml:4:11: experiment a: methods must name at least one method"},

		{"sweep of no list", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = 3 }\n", nil,
			"x.toml:4:26: run.rounds: must be a list of the values to run with"},
		{"value twice", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"problem.lambda\" = [0.10, 1, 0.1] }\n", nil,
			"x.toml:4:40: problem.lambda: the value 0.1 occurs twice"},
		{"sweep of a table", mocha + "[[experiment]]\nname = \"a\"\nsweep = { network = [{ profile = \"3g\" }] }\n",
			nil,
			"x.toml:4:22: network: a value must not be a table: name the single keys, or use an [[experiment.axis]]"},
		{"swept value", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"network.profile\" = [\"lte\", \"5g\"] }\n",
			nil,
			"x.toml:4:39: network.profile = \"5g\": must be one of wifi, wifi-2012, lte, 3g, ble, " +
				"ethernet (did you mean \"3g\"?)"},
		{"swept and set",
			mocha + "[[experiment]]\nname = \"a\"\nset.run.rounds = 3\nsweep = { \"run.rounds\" = [3] }\n", nil,
			"x.toml:5:27: experiment a: run.rounds is set by set and by sweep"},
		{"swept twice",
			mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [3], run = { rounds = [4] } }\n", nil,
			"x.toml:4:39: key run.rounds is set twice"},
		{"key that is none", mocha + "[[experiment]]\nname = \"a\"\nset = { \"run..rounds\" = 3 }\n", nil,
			"x.toml:4:9: key \"run..rounds\"…"},
		{"way through a value",
			mocha + "[[experiment]]\nname = \"a\"\nset = { \"run.rounds.x\" = 3 }\n[run]\nrounds = 3\n", nil,
			"x.toml:4:26: run.rounds: is a table: must be an integer"},
		{"algorithm per run",
			mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"methods.mocha.algorithm\" = [\"mocha\", \"cocoa\"] }\n",
			nil,
			"x.toml:4:40: experiment a: methods.mocha.algorithm cannot change from run to run: add another method"},
		{"too much", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [" + numbers(101) +
			"], \"run.outer\" = [" + numbers(100) + "] }\n", nil,
			"x.toml:2:1: experiment a has more than 10000 combinations of points, methods and tuned options: " +
				"shorten its lists, lower experiment.sample.size, or divide the experiment"},

		{"axis without points", mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\n", nil,
			"x.toml:4:1: axis b has no points"},
		{"axis named like a column",
			mocha +
				"[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"seed\"\npoints = [{ label = \"c\" }]\n",
			nil,
			"x.toml:4:1: axis name \"seed\" is that of a column of the results: choose another"},
		{"axis named badly",
			mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b c\"\npoints = [{ label = \"c\" }]\n",
			nil,
			"x.toml:4:1: axis name \"b c\" must consist of…"},
		{"points of an axis", mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\n" +
			"points = [{ label = \"c\" }, { label = \"c\" }, {}]\n", nil,
			"x.toml:4:1: axis b has two points labeled \"c\"\nx.toml:4:1: axis b has a point without a label"},
		{"sample without size and ranges",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nmethod = \"sobol\"\n", nil,
			"x.toml:5:10: experiment.sample.method = \"sobol\": must be one of latin-hypercube, random\n" +
				"x.toml:4:1: experiment.sample.size = 0: must be in [1, 10000]…\n" +
				"x.toml:4:1: experiment.sample.ranges must have at least one key, such as \"problem.lambda\" = { min " +
				"= 1e-4, max = 1.0, scale = \"log\" }"},
		{"sample with an unknown key", mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsise = 3\n", nil,
			"x.toml:5:1: unknown key experiment.sample.sise: did you mean size?\n" +
				"x.toml:4:1: experiment.sample.ranges must have at least one key…"},
		{"sample that is too large, and a figure of its key",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 10001\n" +
				"ranges.problem.lambda = { min = 1.0, max = 2.0 }\n[experiment.figure]\nseries = \"problem.lambda\"\n",
			nil,
			"x.toml:5:8: experiment.sample.size = 10001: must be in [1, 10000]; for more points, " +
				"run further samples with other seeds"},
		{"sample that is too large for two methods",
			mocha + "[methods.cocoa]\n[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 5001\n" +
				"ranges.problem.lambda = { min = 1.0, max = 2.0 }\n", nil,
			"x.toml:3:1: experiment a has more than 10000 combinations…"},
		{"points of a sample", mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 3\n" +
			"points = [4, 1, 1]\nranges.run.rounds = [1, 2, 3]\n", nil,
			"x.toml:6:10: experiment.sample.points = 4: must be in [1, 3], the numbers of the points\n" +
				"x.toml:6:10: experiment.sample.points = 1: must be there once"},
		{"ranges of a sample",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 3\n[experiment.sample.ranges]\n" +
				"\"problem.lambda\" = { min = 2, max = 1 }\n" +
				"\"problem.sigma\" = { min = 0, max = 1, scale = \"ln\" }\n" +
				"\"run.rounds\" = { min = 1.5, max = 4 }\n" +
				"\"faults.drop_probability\" = { min = 0, max = 0.5, scale = \"log\" }\n" +
				"\"network.loss_probability\" = { max = 0.5 }\n" +
				"\"problem.loss\" = { min = 0, max = 1 }\n" +
				"\"run.outer\" = 3\n" +
				"\"network.jitter\" = []\n" +
				"\"run.eval_every\" = { min = \"one\", max = 4, whole = 1 }\n", nil, strings.Join([]string{
				"x.toml:13:1: experiment.sample.ranges: run.outer: a key needs a range { min = ..., max = ... " +
					"} or a list of values",
				"x.toml:14:20: network.jitter…",
				"x.toml:7:28: experiment.sample.ranges: problem.lambda: min = 2 must be less than max = 1",
				"x.toml:8:47: experiment.sample.ranges: problem.sigma: scale = \"ln\": must be \"linear\" or \"log\"",
				"x.toml:9:24: experiment.sample.ranges: run.rounds: takes whole numbers: min and max must be whole " +
					"and " +
					"less than 2^53",
				"x.toml:10:37: experiment.sample.ranges: faults.drop_probability: min = 0: " +
					"must be positive on a logarithmic scale",
				"x.toml:11:38: experiment.sample.ranges: network.loss_probability: a range needs both min and max",
				"x.toml:12:26: experiment.sample.ranges: problem.loss: is a string, which has no range: " +
					"list its values",
				"x.toml:15:28: experiment.sample.ranges: run.eval_every: min = \"one\": must be a number",
				"x.toml:15:52: experiment.sample.ranges: run.eval_every: whole = 1: must be true or false"}, "\n")},
		{"unknown key of a sample", mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 3\n" +
			"ranges.problem.lamda = { min = 1.0, max = 2.0 }\n", nil,
			"x.toml:6:32: unknown key problem.lamda: did you mean lambda?"},
		{"range beyond its key", mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 3\n" +
			"ranges.faults.drop_probability = { min = 1.1, max = 2.0 }\n", nil,
			"x.toml:6:42: faults.drop_probability = 1.569: must be in [0, 1]"},
		{"key of a sample and a sweep", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [3] }\n" +
			"[experiment.sample]\nsize = 3\nranges.run.rounds = [1, 2, 3]\n", nil,
			"x.toml:4:27: experiment a: run.rounds is set by sample and by sweep"},
		{"algorithm in a sample", mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\nsize = 2\n" +
			"ranges.methods.mocha.algorithm = [\"cocoa\", \"mocha\"]\n", nil,
			"x.toml:6:44: experiment a: methods.mocha.algorithm…"},
		{"axis and sample of one name", mocha + "[[experiment]]\nname = \"a\"\nsample = { size = 1, " +
			"ranges = { \"run.rounds\" = [1, 2] } }\n[[experiment.axis]]\nname = \"sample\"\n" +
			"points = [{ label = \"c\" }]\n", nil, "x.toml:2:1: experiment a: two axes are named sample"},
		{"sample that an override leaves too large", mocha + "[[experiment]]\nname = \"a\"\n[experiment.sample]\n" +
			"size = 4\nranges.run.rounds = [1, 2, 3]\nranges.problem.lambda = { min = 1.0, max = 2.0 }\n",
			[]string{"problem.lambda=1"}, "--set problem.lambda=1: experiment.sample: there are not 4 different " +
				"points in the ranges: lower experiment.sample.size, or widen a range"},
		{"axis twice", mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\n" +
			"points = [{ label = \"c\" }]\n[[experiment.axis]]\nname = \"b\"\npoints = [{ label = \"c\" }]\n", nil,
			"x.toml:2:1: experiment a: two axes are named b"},
		{"point of an axis", mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\npoints = [\n" +
			"  { label = \"c\", set = { \"faults.drop_probability\" = 2 } },\n]\n", nil,
			"x.toml:7:54: faults.drop_probability = 2: must be in [0, 1]"},
		{"key on two axes", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [3] }\n" +
			"[[experiment.axis]]\nname = \"b\"\npoints = [{ label = \"c\", set.run.rounds = 2 }]\n", nil,
			"x.toml:4:27: experiment a: run.rounds is set by axis b and by sweep"},

		{"tuned method", mocha + "[[experiment]]\nname = \"a\"\n[experiment.tune.moca]\n\"options.epochs\" = [1]\n",
			nil,
			"x.toml:4:1: unknown method moca: did you mean mocha?"},
		{"tuned key", mocha + "[[experiment]]\nname = \"a\"\n[experiment.tune.mocha]\nepochs = [1]\n", nil,
			"x.toml:5:11: experiment a: options of a method and its settings are tuned: " +
				"epochs must be options.<name>, or a key such as problem.lambda"},
		{"tuned option", mocha + "[[experiment]]\nname = \"a\"\n[experiment.tune.mocha]\n\"options.epoch\" = [1]\n",
			nil,
			"x.toml:5:20: unknown key methods.mocha.options.epoch: did you mean epochs?"},
		{"tuned and swept", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"methods.mocha.options.epochs\" = [1] " +
			"}\n[experiment.tune.mocha]\n\"options.epochs\" = [1]\n", nil,
			"x.toml:6:21: experiment a: methods.mocha.options.epochs is set by sweep and by tune.mocha"},
		{"tuning of nothing",
			mocha + "[[experiment]]\nname = \"a\"\n[experiment.tuning]\ntarget = { suboptimality = 2 }\n", nil,
			"x.toml:5:10: experiment.tuning.target = 2: must be in (0, 1]\nx.toml:4:1: experiment a: " +
				"tuning has no effect without [experiment.tune.<method>]"},

		{"panel", mocha + "[[experiment]]\nname = \"a\"\nsweep = { \"network.profile\" = [\"3g\"] }\n" +
			"[experiment.figure]\npanel = \"network.profil\"\nseries = \"methods\"\n", nil,
			"x.toml:6:9: experiment.figure.panel = \"network.profil\": must be one of method, " +
				"network.profile (did you mean \"network.profile\"?)\n" +
				"x.toml:7:10: experiment.figure.series = \"methods\": must be one of method, " +
				"network.profile (did you mean \"method\"?)"},
		{"emphasis", mocha + "[[experiment]]\nname = \"a\"\n[experiment.figure]\nemphasis = \"moca\"\n", nil,
			"x.toml:5:12: experiment.figure.emphasis = \"moca\": must be one of mocha (did you mean \"mocha\"?)"},
		{"figure twice", mocha + "[[experiment]]\nname = \"a\"\n[experiment.figure]\n[[experiment]]\nname = \"b\"\n" +
			"[experiment.figure]\nfile = \"a\"\n", nil,
			"x.toml:8:8: two figures go to the file a"},

		{"override without a value", mocha, []string{"run.rounds"}, "--set run.rounds: must be key=value"},
		{"override without a key", mocha, []string{"=3"}, "--set =3…"},
		{"override that is no TOML", mocha, []string{"run.seeds=[1,"}, "--set run.seeds=[1,: [1, is not a TOML value…"},
		{"override through a value", "[run]\nrounds = 3\n" + mocha, []string{"run.rounds.x=3"},
			"--set run.rounds.x=3: run.rounds: is a table: must be an integer"},
		{"override of an empty table", mocha, []string{"run={}"}, "--set run={}: an empty table sets nothing"},
		{"override of no experiment", mocha, []string{"experiment.y.methods=[\"mocha\"]"},
			"--set experiment.y.methods=[\"mocha\"]: unknown experiment y: known are x"},
		{"override of an experiment's nothing", mocha, []string{"experiment.x=3"},
			"--set experiment.x=3: must name an experiment and one of its keys: experiment.<name>.<key>=value"},
		{"override of an axis' key", drops, []string{"faults.drop_probability=0.5"},
			"--set faults.drop_probability=0.5: axis drops of experiment a sets faults.drop_probability along with " +
				"other keys: choose among its points with --set experiment.a.axis.drops='[\"label\"]'"},
		{"unknown point", drops, []string{"experiment.a.axis.drops=nevr"},
			"--set experiment.a.axis.drops=nevr: unknown point nevr: did you mean never?"},
		{"unknown axis", drops, []string{"experiment.a.axis.drop=never"},
			"--set experiment.a.axis.drop=never: unknown axis drop: did you mean drops?"},
		{"two bad overrides", mocha, []string{"a", "b"}, "--set a: must be key=value\n--set b: must be key=value"},

		{"duplicate key", "[run]\nrounds = 1\nrounds = 2\n" + mocha, nil, "x.toml:3:1: key rounds is set twice"},
		{"no TOML", "[run\n", nil, "x.toml:1:5: expected '.' or ']' to end table name, but got '\\n' instead"},
		{"garbage", "\xfe\x80\x00", nil,
			"x.toml:1:3: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8"},
		{"invalid UTF-8", "name = \"\xc3\x28\"\n", nil, "x.toml:1:8: invalid UTF-8 byte: 0xc3"},
		{"empty file", "", nil, "x.toml: there is no method…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("x.toml", []byte(test.source), test.set)
			expect.Must(t, err != nil, "no error, want\n%s", test.want)
			expect.That(t, says(err, test.want), "got\n%s\nwant\n%s", err, test.want)
		})
	}
}

// says reports whether an error has these lines. One that ends in … is the beginning of a text that
// another test has.
func says(err error, want string) bool {
	if err == nil {
		return false
	}
	return slices.EqualFunc(strings.Split(err.Error(), "\n"), strings.Split(want, "\n"), func(line, want string) bool {
		begin, open := strings.CutSuffix(want, "…")
		return line == want || open && strings.HasPrefix(line, begin)
	})
}

// drops is a scenario with a named axis whose points set different keys.
const drops = mocha + `
[[experiment]]
name = "a"
[[experiment.axis]]
name = "drops"
points = [
  { label = "p = 0", set = { "faults.drop_probability" = 0 } },
  { label = "never", set = { "faults.never" = [0], "run.rounds" = 7 } },
]
`

// numbers lists 1 to n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(",")
		for _, digit := range []int{(i + 1) / 100, (i + 1) / 10 % 10, (i + 1) % 10} {
			if digit > 0 || b.String()[b.Len()-1] != ',' {
				b.WriteByte(byte('0' + digit))
			}
		}
	}
	return b.String()[1:]
}

func TestLoadErrors(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"quickstrat",
			"quickstrat: unknown scenario quickstrat: did you mean quickstart? (the name of a file ends in .toml)"},
		{"no/such/quickstart.toml", "no/such/quickstart.toml: no such file: did you mean the shipped scenario " +
			"quickstart? It goes by its name alone, without folder and .toml"},
		{"./", "./: cannot be read: is a directory"},
	} {
		_, err := Load(test.name, nil)
		expect.That(t, err != nil && err.Error() == test.want, "%s: got %v, want %s", test.name, err, test.want)
	}
}

// Combinations that a method does not support are errors with their places.
func TestMethodsAndProtocols(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a protocol for all",
			"[methods.mocha]\n[methods.cocoa]\n[federation]\nprotocol = \"deadline\"\ndeadline_s = 1\n",
			`x.toml:4:12: federation.protocol = "deadline": must be "wait-for-all"…`},
		{"the protocol of a method", "[methods.cocoa]\nprotocol = \"charged\"\n",
			`x.toml:2:12: federation.protocol = "charged": must be "wait-for-all"…`},
		{"no rounds", "[methods.mocha]\nprotocol = \"asynchronous\"\n",
			`x.toml:2:12: federation.protocol = "asynchronous": must be another…`},
		{"no work, one of several",
			"[methods.mocha]\n[[experiment]]\nname = \"e\"\n" +
				"sweep = { \"methods.mocha.options.epochs\" = [1, \"fill\"] }\n" +
				"[federation]\nprotocol = \"wait-for-all\"\n",
			`x.toml:6:12: federation.protocol = "wait-for-all": must be "deadline" with fit_work…`},
		{"a dual method and softmax", "[methods.mocha]\n[problem]\nloss = \"softmax\"\n",
			`x.toml:3:8: problem.loss = "softmax": must be one of absolute…`},
		{"a dual method and a network", "[methods.mocha]\n[problem]\nmodel = \"mlp\"\nmodel_options.hidden = [4]\n",
			`x.toml:3:9: problem.model = "mlp": must be "linear", or the method…`},
		{"tuning without an optimum", "[methods.mocha]\n[problem]\noptimum.when = \"never\"\n[[experiment]]\nname " +
			"= \"e\"\n" +
			"tune.mocha = { \"options.epochs\" = [1, 2] }\n",
			`x.toml:3:16: problem.optimum.when = "never": must be "auto", or experiment.tuning.target of another ` +
				`metric: mocha is tuned in experiment e by its time to a sub-optimality, which needs the reference ` +
				`optimum`},
		{"tuning a network", "[methods.fedavg]\nset = { \"problem.model\" = \"mlp\", " +
			"\"problem.model_options.hidden\" = [4] }\n" +
			"[[experiment]]\nname = \"e\"\ntune.fedavg = { \"options.epochs\" = [1, 2] }\n",
			`x.toml:2:27: problem.model = "mlp": must be "linear", or experiment.tuning…`},
		{"the authors' cost", "[methods.fedavg]\n[federation]\ncost = \"authors\"\n",
			`x.toml:3:8: federation.cost = "authors": must be "physical" or "relative"…`},
	} {
		_, err := Parse("x.toml", []byte(c.text), nil)
		expect.That(t, says(err, c.want), "%s:\ngot  %v\nwant %s", c.name, err, c.want)
	}
	if _, err := Parse("x.toml",
		[]byte("[methods.mocha]\n[problem]\noptimum.when = \"never\"\n[[experiment]]\nname = \"e\"\n"+
			"tuning.target = { test_error = 0.1 }\ntune.mocha = { \"options.epochs\" = [1, 2] }\n"), nil); err != nil {
		t.Errorf("tuning to a test error: %v", err)
	}
	if _, err := Parse("x.toml",
		[]byte("[run]\nmax_time_s = 9\n[methods.async-mocha]\nprotocol = \"asynchronous\"\n[methods.cocoa]\n"+
			"[methods.mocha]\nprotocol = \"charged\"\noptions.epochs = \"fill\"\n"), nil); err != nil {
		t.Errorf("methods that fit their protocols: %v", err)
	}
	if _, err := Parse("x.toml",
		[]byte("[methods.mocha]\nprotocol = \"deadline\"\n[methods.mb-sgd]\n[federation]\nprotocol = \"charged\"\n"+
			"protocol_options.steps_low = 0.2\ndeadline_s = 1\n"), nil); err != nil {
		t.Errorf("keys of two protocols: %v", err)
	}
}

// A table of metrics takes the place of a list of sub-optimalities, and the reverse,
// wherever it is set; the resolved scenario has it as well.
func TestTargetsOverTargets(t *testing.T) {
	const text = `
[run]
targets = { suboptimality = [0.5] }
stop_at = { suboptimality = 0.5 }
[methods.mocha]
[[experiment]]
name = "e"
set = { "run.stop_at.test_error" = 0.25, "run.targets" = { gap = [0.125] } }
`
	for _, c := range []struct {
		set     []string
		base    results.Targets
		targets results.Targets
		stop    results.Target
	}{
		{nil, results.ToSuboptimalities(0.5), results.Targets{{Metric: "gap", Value: 0.125}},
			results.Target{Metric: "test_error", Value: 0.25}},
		{[]string{"run.targets.test_error=[0.25]", "run.stop_at={ gap = 1 }"},
			results.Targets{{Metric: "test_error", Value: 0.25}}, results.Targets{{Metric: "test_error", Value: 0.25}},
			results.Target{Metric: "gap", Value: 1}},
		{[]string{"run.targets.suboptimality=[1]", "run.stop_at.suboptimality=1"}, results.ToSuboptimalities(1),
			results.ToSuboptimalities(1),
			results.ToSuboptimality(1)},
	} {
		s, err := Parse("x.toml", []byte(text), c.set)
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
			continue
		}
		resolved := resolvedOf(t, s)
		again, err := Parse("x.toml", resolved, nil)
		if err != nil {
			t.Errorf("%v: %v in\n%s", c.set, err, resolved)
			continue
		}
		for _, x := range []*Scenario{s, again} {
			run := x.Experiments[0].Jobs[0].Candidates[0].Settings.Run
			if !cmp.Equal(x.Settings.Run.Targets, c.base) || !cmp.Equal(run.Targets, c.targets) ||
				run.StopAt != c.stop {
				t.Errorf("%v: targets %v, in the experiment %v and stop_at %v", c.set, x.Settings.Run.Targets,
					run.Targets, run.StopAt)
			}
			expect.That(t, cmp.Equal(x.Targets(), c.targets), "%v: targets of the runs %v", c.set, x.Targets())
		}
	}
}

// The targets of a scenario are those of all its runs.
func TestTargetsOfAllExperiments(t *testing.T) {
	const text = `
[run]
targets = { suboptimality = [0.5], test_error = [0.25] }
[methods.mocha]
[[experiment]]
name = "a"
[[experiment]]
name = "b"
set = { "run.targets" = { test_error = [0.25, 0.125], gap = [1] } }
`
	s := parse(t, text)
	want := results.Targets{{Metric: "suboptimality", Value: 0.5}, {Metric: "gap", Value: 1},
		{Metric: "test_error", Value: 0.25}, {Metric: "test_error", Value: 0.125}}
	got := s.Targets()
	expect.That(t, cmp.Equal(got, want), "targets %v, want %v", got, want)
}

// The tuning grid of a method that --set has removed is ignored; one of a method that
// the file does not list, or that there is not, is an error.
func TestTuningOfRemovedMethods(t *testing.T) {
	const text = "[methods.mocha]\n[methods.cocoa]\n[[experiment]]\nname = \"e\"\n" +
		"tune.mocha.\"options.epochs\" = [1, 2]\ntune.cocoa.\"options.theta\" = [0.5, 0.9]\n"
	s := parse(t, text, `experiment.e.methods=["cocoa"]`)
	if jobs := s.Experiments[0].Jobs; len(jobs) != 1 || jobs[0].Candidates[0].Method != "cocoa" ||
		len(jobs[0].Candidates) != 2 {
		t.Errorf("jobs %+v", jobs)
	}
	resolved := resolvedOf(t, s)
	if _, err := Parse("x.toml", resolved, nil); err != nil {
		t.Errorf("%v in\n%s", err, resolved)
	}
	for source, set := range map[string][]string{
		text + "methods = [\"cocoa\"]\n":                     nil,
		text + "tune.mb-sgd.\"options.step\" = [0.1, 1.0]\n": {`experiment.e.methods=["cocoa"]`},
	} {
		_, err := Parse("x.toml", []byte(source), set)
		expect.That(t, err != nil && strings.Contains(err.Error(), "unknown method"), "%s%v: %v", source, set, err)
	}
}

// A run directory of an earlier version, with former keys and values, is refused in
// one line.
func TestRecordedByAnEarlierVersion(t *testing.T) {
	const source = "[methods.mocha]\n[devices]\ncharging = \"when-flat\"\n[faults]\nstrike = \"start\"\n" +
		"[traces.presence]\nmean_up_s = 1\n"
	_, err := ParseRecorded("runs/x", []byte(source))
	const want = "runs/x/scenario.toml:3:12: devices.charging: is now devices.charging.when (an earlier version " +
		"wrote this directory): run the scenario again"
	expect.That(t, err != nil && filepath.ToSlash(err.Error()) == want, "got %v, want %s", err, want)
	if _, err := ParseRecorded("runs/x", []byte("[methods.mocha]\n[run]\nrounds = -1\n")); err == nil ||
		strings.Contains(err.Error(), "again") {
		t.Errorf("a wrong value: %v", err)
	}
}

// A run directory whose scenario names a plugin says which program reads it, with and
// without options of the plugin.
func TestRecordedPlugin(t *testing.T) {
	for _, c := range []struct{ key, table string }{
		{"federation.selection = \"round-robin\"", "[federation]\nselection = \"round-robin\"\n"},
		{"federation.selection = \"round-robin\"",
			"[federation]\nselection = \"round-robin\"\n[federation.selection_options]\nskip = 2\n"},
		{"federation.protocol = \"patience\"",
			"[federation]\nprotocol = \"patience\"\nprotocol_options = { rounds = 1 }\n"},
	} {
		_, err := ParseRecorded("runs/x", []byte("[methods.mocha]\n"+c.table))
		if want := c.key + " is not in this program: use the program that made the run (docs/extend.md)"; err == nil ||
			!strings.HasSuffix(err.Error(), ": "+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\ngot  %v\nwant %s", c.table, err, want)
		}
	}
}
