package federation

import (
	"cmp"
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/internal/tools/registry"
)

// Protocol decides when a round of one run ends. The server asks clients, keeps the
// responses, and calls the protocol at each of the moments below. A protocol
// depends only on these calls and on [OpenRound], not on the machine's clock or a global
// generator. A resumed run makes the same calls again.
//
// A protocol may also be a [Limiter] and a [Weigher].
type Protocol interface {
	// Open is called when the clients of a round have been asked. It may end the round,
	// or say when it ends.
	Open(r *OpenRound)
	// Responded is called when a response has arrived in the open round, to it or to an
	// earlier one.
	Responded(r *OpenRound, client int)
	// Exhausted is called when the server expects no response in this round any more: each
	// has arrived or is overdue. The server learns of a failure when the response was due. The
	// call may come several times in a round. End the round here to end it at once; do nothing
	// to wait for the time set with [OpenRound.EndAt]. Without EndAt the protocol must end the
	// round here.
	Exhausted(r *OpenRound)
	// Close is called when the round has ended and the server has taken its responses.
	Close(r *OpenRound)
}

// Waker is a Protocol of rounds that acts at instants of its own.
type Waker interface {
	// Wake is called at the instant of OpenRound.WakeAt. It may end the round, or set other instants.
	Wake(r *OpenRound)
}

// Noticer is a Protocol of rounds that hears of failures.
type Noticer interface {
	// Failed is called when the server no longer expects a response of a client, which was overdue, before
	// Exhausted. It may end the round, or ask another client.
	Failed(r *OpenRound, client int)
}

// Limiter is a Protocol that limits the work of clients.
type Limiter interface {
	// Steps returns how many steps of the method a client may do in the round that is
	// being opened. Below 1 it does nothing. Several clients are asked about at once.
	Steps(r *OpenRound, client int) float64
}

// Weigher is a Protocol that gives updates weights. The method must be an
// algorithms.Weighted.
type Weigher interface {
	// Weight returns the factor of a client's update, which the server takes in the round
	// that closes.
	Weight(r *OpenRound, client int) float64
}

// Grouper is a continuous Protocol under which the server takes the responses of several clients
// in one step. It is a Limiter too: Steps is called for a client whenever it is asked, in order.
type Grouper interface {
	Limiter
	// Gather hears that a client has responded, or that its attempt has failed, or of the instant
	// of OpenRound.WakeAt (engine.Server). It returns the responses that the server takes now, of
	// this client or of others that have responded before, and whether it then takes a step on all
	// that it has taken since the last one. The server asks the clients whose responses it takes
	// again, in this order.
	Gather(r *OpenRound, client int, failed bool) (take []int32, step bool)
}

// Router is a continuous Protocol that gives tasks to clients at work, too. They wait there, in order.
type Router interface {
	// Route returns the client of the next task, of so many clients, by random numbers of its own.
	Route(clients int, s Stream) int
}

// End is what ends the rounds of a protocol.
type End uint8

const (
	EndsWithResponses End = iota // enough responses, or federation.deadline_s where it is set
	EndsAtDeadline               // federation.deadline_s, always
	EndsWithCharge               // the time that every client is charged
	EndsWithCount                // the protocol has no rounds: so many responses count as one
)

// Traits are what else the server, and an analysis of a run, must know of a protocol
// under given settings.
type Traits struct {
	End End
	// WaitsForAll: a round needs a response of every client that it asks. The server
	// asks clients that have failed again without limit, and those that are unavailable
	// when they become available.
	WaitsForAll bool
	// Continuous: there are no rounds. The server takes every response when it arrives,
	// and asks another client. The method must be an algorithms.Asynchronous.
	Continuous bool
	// Groups: the protocol is a Grouper. Continuous and LimitsWork must be set, too. Its steps are all
	// local work of a client: a method must have no setting of its own.
	Groups bool
	// Queues: the protocol is a Router. Continuous must be set, too.
	Queues bool
	// Asks: the protocol calls OpenRound.More, Ask, Expects and Cancel. There must be rounds that do not wait
	// for all clients.
	Asks bool
	// LimitsWork: the protocol is a Limiter.
	LimitsWork bool
	// DrawnSteps returns the limit of a client in a round where it depends on nothing but the seed
	// and the rows of the smallest task; nil: it depends on more, or there is none.
	DrawnSteps func(seed uint64, minRows, client, round int) int
	// Weighs: the protocol is a Weigher.
	Weighs bool
	// FitsWork: it limits work to what fits into federation.deadline_s.
	FitsWork bool
	// Late: responses to earlier rounds are taken in the round in which they arrive.
	Late bool
	// ChargedPasses is how many passes over the smallest task every client is charged
	// the time of, at least.
	ChargedPasses float64
}

// ProtocolFactory describes a protocol and builds it for runs.
type ProtocolFactory struct {
	Name      string                // as federation.protocol names it: lower case, words joined by hyphens
	Summary   string                // one line for listings
	Reference string                // where the protocol comes from; empty: nowhere in particular
	Options   func() config.Options // a new struct holding the defaults of federation.protocol_options; nil: none
	// Apply tells the server what it must know of the options; nil: nothing.
	Apply func(config.Options, *Shared)
	// Keys lists the keys of [federation] that have a use under the protocol, out of
	// deadline_s, selection, min_reports and late.
	Keys []string
	// History is true when the protocol calls OpenRound.History. The server records nothing
	// otherwise.
	History bool
	// Traits returns the protocol's traits under valid settings.
	Traits func(*Config) Traits
	// Validate reports errors in the settings under the protocol; nil: there are none.
	Validate func(*Config, *config.Checker)
	// New builds the protocol for one run. The options are what Options returned,
	// decoded and valid; nil without Options.
	New func(*Config, config.Options) (Protocol, error)
}

var protocols = registry.New[ProtocolFactory]("federation", "protocol")

// RegisterProtocol makes a protocol known under its name. It is called from init
// functions and panics on a factory that is incomplete or already known, and on an option that has
// another default than that of the same name in another protocol, since both have one key.
func RegisterProtocol(f ProtocolFactory) {
	for _, name := range ProtocolNames() {
		other, _ := LookupProtocol(name)
		for _, a := range optionsOf(&f) {
			for _, b := range optionsOf(&other) {
				if a.Key == b.Key && (a.Type != b.Type || a.Default != b.Default) {
					panic(fmt.Sprintf("federation: option %s of protocol %q differs from that of %q", a.Key, f.Name,
						name))
				}
			}
		}
	}
	protocols.Add(f.Name, f, f.Traits != nil && f.New != nil, "a name, traits and a constructor")
}

func optionsOf(f *ProtocolFactory) []config.Field {
	if f.Options == nil {
		return nil
	}
	return config.Fields(f.Options())
}

// LookupProtocol returns the protocol registered under a name.
func LookupProtocol(name string) (ProtocolFactory, bool) { return protocols.Lookup(name) }

// ProtocolNames returns the names of the registered protocols in alphabetical order.
func ProtocolNames() []string { return protocols.Names() }

// WaitForAll is the protocol in force where none is named.
const WaitForAll = "wait-for-all"

// InForce returns the protocol, WaitForAll where none is named.
func (cfg *Config) InForce() string { return cmp.Or(cfg.Protocol, WaitForAll) }

// Traits returns the traits of the protocol in force; none if it is not registered.
func (cfg *Config) Traits() Traits {
	factory, ok := LookupProtocol(cfg.InForce())
	if !ok {
		return Traits{}
	}
	return factory.Traits(cfg)
}

// uses reports whether a key has a use under the protocol in force.
func (cfg *Config) uses(key string) bool {
	factory, _ := LookupProtocol(cfg.InForce())
	return slices.Contains(factory.Keys, key)
}

// newProtocol builds the protocol of a run.
func (cfg *Config) newProtocol() (Protocol, error) {
	factory, ok := LookupProtocol(cfg.InForce())
	if !ok {
		return nil, fmt.Errorf("protocol %q is not registered", cfg.Protocol)
	}
	options, _ := cfg.ProtocolOptions.(config.Options)
	if factory.Options == nil {
		options = nil
	} else if options == nil {
		options = factory.Options()
	}
	p, err := factory.New(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("starting protocol %s: %w", cfg.Protocol, err)
	}
	return p, nil
}
