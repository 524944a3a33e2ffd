// Package driven runs a scenario for another program, which is the method: the driver. It
// writes requests as JSON lines and gets one line back for each (docs/protocols.md#engine).
// Virtual time belongs to fedsim, and the learning to the driver: only counts, bytes,
// FLOPs, times and metrics cross the pipe.
//
// It must not know where results are stored, nor where the lines come from.
package driven

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/federation/session"
	"fedsim/internal/tools/pipe"
	"fedsim/results"
)

// MaxLine is the most bytes of a line of a driver, without its end.
const MaxLine = 256 << 20

// Version is the version of the protocol.
const Version = 1

// Features are the additions to version 1 that drivers may rely on.
var Features = []string{"policy", "select", "work", "clients", "epochs", "batteries", "overheads"}

// Hello describes a driver.
type Hello struct {
	Program string            // name and version
	Method  string            // label in results
	Seed    *uint64           // nil: that of the scenario
	Notes   map[string]string // for the manifest
}

// Options are the surroundings of a run.
type Options struct {
	Version string                           // of fedsim
	Open    func(Hello) (*Directory, *Error) // opens the directory of the run
	Clock   func() time.Time                 // the real clock
}

// Directory is where a run is stored.
type Directory struct {
	Run *scenario.RunSpec
	// Options has the Recorder of the run, at place 0, and its Journal and Checkpoints.
	Options experiment.Options
	// Finish ends the rows of the run and stores it. It returns the place of the results; empty:
	// nothing was stored.
	Finish func(rows results.Rows, run results.Run, failed bool) (place string, err error)
	// Suspend stores a run that was interrupted, with its rounds so far. It returns the
	// error of Serve, which says why.
	Suspend func(rows results.Rows, run results.Run, why string) error
}

// ErrInterrupted is wrapped by the error of Serve for a run that was interrupted: the
// input or the context has ended before the op finish. It wraps context.Canceled.
var ErrInterrupted error = interruption{}

type interruption struct{}

func (interruption) Error() string { return "interrupted" }

func (interruption) Unwrap() error { return context.Canceled }

// ErrFailed is the error of Serve for a run that its driver finished with state failed.
var ErrFailed = errors.New("the driver has failed")

// Serve answers the lines of a driver until the op finish, the end of the input or of
// ctx. An error has been reported to the driver where possible; a *Error ended the run.
func Serve(ctx context.Context, from io.Reader, to io.Writer, o Options) error {
	s := &server{ctx: ctx, options: o, started: o.Clock()}
	in := pipe.ReadLines(ctx, from, MaxLine)
	for !s.finished {
		x, err := in.Next(ctx)
		if err == nil && x.Err != pipe.ErrTooLong {
			err = x.Err
		}
		switch {
		case err == io.ErrUnexpectedEOF:
			return s.interrupt("the input ended within a line")
		case err == io.EOF:
			return s.interrupt("the input ended before the op finish")
		case ctx.Err() != nil:
			return s.interrupt("interrupted by a signal")
		case err != nil:
			return s.interrupt(fmt.Sprintf("the input cannot be read (%v)", err))
		}
		answer, failed := s.answer(x)
		in.Release(x)
		if _, err := to.Write(answer); err != nil && !s.finished {
			return s.interrupt(fmt.Sprintf("the output cannot be written (%v)", err))
		}
		if failed != nil && failed.Fatal {
			if failed.Code == CodeInterrupted {
				return s.interrupt("interrupted by a signal")
			}
			if s.digests != nil && failed.Code != CodeDiverged {
				err = s.digests.save()
			}
			return errors.Join(failed, err)
		}
	}
	if s.failed {
		return ErrFailed
	}
	return nil
}

// server is a run and its driver.
type server struct {
	ctx     context.Context
	options Options
	started time.Time

	decoder  pipe.Decoder
	request  request
	response response

	session   *session.Session
	directory *Directory // nil before hello
	run       results.Run
	clients   int
	training  []int32 // rows of each client
	rows      results.Rows
	system    *clients.System
	deviceErr func() error // the first error of the rows by device; nil: not started
	digests   *digests

	notices  []session.Notice
	stalled  string // why the protocol can never end the round; empty: it can
	finished bool
	warnings []results.Warning // of the driver
	failed   bool
}

func (s *server) answer(x pipe.Line) ([]byte, *Error) {
	if x.Err != nil {
		const most = "the line has more than %d MiB: send fewer messages in a line"
		failed := &Error{Code: CodeTooLong, Message: fmt.Sprintf(most, MaxLine>>20)}
		return s.response.fail(failed), failed
	}
	failed := s.do(x.Text)
	if failed != nil {
		failed.op = s.request.op
		return s.response.fail(failed), failed
	}
	return s.response.end(), nil
}

// do executes a line, and writes the response except its end.
func (s *server) do(line []byte) *Error {
	r := &s.request
	failed := r.parse(&s.decoder, line)
	if s.digests != nil && r.op != "available" {
		compare := s.digests.add
		if r.op == "finish" { // a driver that failed may do more next time
			compare = s.digests.end
		}
		if err := compare(line); err != nil && r.state != stateFailed {
			return &Error{Code: CodeDiverged, Message: err.Error(), Fatal: true}
		}
	}
	if failed != nil {
		return failed
	}
	if (r.op == "hello") == (s.session != nil) {
		message := "must come after the op hello"
		if s.session != nil {
			message = "must be there once"
		}
		return &Error{Code: CodeOrder, Field: "op", Message: message}
	}
	if r.op == "hello" {
		return s.hello(line)
	}
	if failed := s.perform(r); failed != nil || r.op == "finish" {
		return failed
	}
	if err := cmp.Or(s.digests.saveDue(), s.deviceErr()); err != nil {
		return internal(err)
	}
	return nil
}

// internal returns the error of results that cannot be stored.
func internal(err error) *Error {
	return &Error{Code: CodeInternal, Message: err.Error(), Fatal: true, Cause: err}
}

// perform does an op other than hello.
func (s *server) perform(r *request) *Error {
	switch r.op {
	case "available":
		available, next := s.session.Available()
		s.response.begin(s.session.Now())
		s.response.ranges("available", available)
		s.response.time("next_change_ns", next)
	case "select":
		return s.selected(r)
	case "send":
		refused, err := s.session.Send(r.round, r.kind, r.messages)
		if err != nil {
			return s.refuse(err)
		}
		s.response.begin(s.session.Now())
		s.response.refused(refused)
	case "wait":
		var ids []int64
		if r.seen&hasIDs != 0 {
			ids = given(r.ids)
		}
		return s.waited(s.session.Wait(ids, r.count, r.until, s.notices[:0]))
	case "advance":
		return s.waited(s.session.Advance(r.until, s.notices[:0]))
	case "exchange":
		return s.exchange(r)
	case "work":
		if err := s.session.Work(r.id, r.work, r.up); err != nil {
			return s.refuse(err)
		}
		s.response.begin(s.session.Now())
	case "cancel":
		if err := s.session.Cancel(r.ids); err != nil {
			return s.refuse(err)
		}
		s.response.begin(s.session.Now())
	case "close":
		return s.closeRound(r)
	case "finish":
		return s.finish(r)
	}
	return nil
}

// selected answers the op select: the cohort, with the epochs and the batteries that it asks for.
func (s *server) selected(r *request) *Error {
	var chosen, epochs []int32
	var reports []session.BatteryReport
	var err error
	if r.seen&hasReport != 0 {
		if reports, err = s.session.Batteries(r.round, r.report); err != nil {
			return s.refuse(err)
		}
	}
	if r.epochs > 0 {
		chosen, epochs, err = s.session.SelectEpochs(r.round, r.epochs)
	} else {
		chosen, err = s.session.Select(r.round)
	}
	if err != nil {
		return s.refuse(err)
	}
	s.response.begin(s.session.Now())
	s.response.clients("clients", chosen)
	if r.epochs > 0 {
		s.response.clients("epochs", epochs)
	}
	if r.seen&hasReport != 0 {
		s.response.batteries(reports)
	}
	return nil
}

// refuse returns the error of an op that the session refuses.
func (s *server) refuse(err error) *Error {
	e := &Error{Code: CodeInternal, Message: err.Error(), Fatal: true, Cause: err}
	if of, ok := errors.AsType[*session.Error](err); ok {
		if of.Code == session.CodeStalled {
			s.stalled = of.Text
		}
		e.Code, e.Fatal = Code(of.Code), of.Code == session.CodeInterrupted
		e.Field = s.fieldOf(of)
	}
	return e
}

// fieldOf returns the place of the value in the request that the session refuses.
func (s *server) fieldOf(e *session.Error) string {
	r := &s.request
	switch Code(e.Code) {
	case "past":
		return "until_ns"
	case "round":
		return "round"
	case "policy":
		if r.policy {
			return "policy"
		}
	}
	if e.ID == 0 {
		return ""
	}
	suffix := map[string]string{"client": ".client", "duplicate-id": ".id"}[string(e.Code)]
	for i := range r.messages {
		// The second of two messages with the same id is the duplicate.
		k := len(r.messages) - 1 - i
		if r.messages[k].ID == e.ID {
			return fmt.Sprintf("msgs[%d]%s", k, suffix)
		}
	}
	if i := slices.Index(r.ids, e.ID); i >= 0 {
		return fmt.Sprintf("ids[%d]", i)
	}
	if i := slices.Index(r.taken, e.ID); i >= 0 {
		return fmt.Sprintf("taken[%d]", i)
	}
	return "id"
}

// waited writes the events of an op that moves the clock.
func (s *server) waited(all []session.Notice, end session.WaitEnd, err error) *Error {
	if err != nil {
		return s.refuse(err)
	}
	s.notices = all
	s.response.begin(s.session.Now())
	s.response.events(all)
	s.response.text("end", end.String())
	return nil
}

// exchange sends messages and waits for them.
func (s *server) exchange(r *request) *Error {
	if r.policy {
		if r.seen&(hasCount|hasUntil) != 0 {
			name := fields.Names(r.seen & (hasCount | hasUntil))[0]
			return &Error{Code: CodeUnknownField, Field: name,
				Message: "cannot be combined with policy, which ends the round"}
		}
		all, taken, refused, err := s.session.PlayRound(r.round, r.kind, r.messages, s.notices[:0])
		return s.exchanged(refused, all, "round", taken, err)
	}
	// What Wait would refuse is refused before anything is sent.
	if now := s.session.Now(); r.until < now {
		return &Error{Code: Code(session.CodePast), Field: "until_ns",
			Message: fmt.Sprintf("must not be before now, %d ns", now)}
	}
	if n := s.session.OpenWork(); n > 0 {
		return &Error{Code: Code(session.CodeOpenWork), Message: fmt.Sprintf("%d clients wait for the op work", n)}
	}
	refused, err := s.session.Send(r.round, r.kind, r.messages)
	if err != nil {
		return s.refuse(err)
	}
	all, end, err := s.session.Wait(s.sent(refused), r.count, r.until, s.notices[:0])
	return s.exchanged(refused, all, end.String(), nil, err)
}

// exchanged writes the result of an exchange; taken is nil where the driver takes responses itself.
func (s *server) exchanged(
	refused []session.Refusal, all []session.Notice, end string, taken []int64, err error,
) *Error {
	if err != nil {
		return s.refuse(err)
	}
	s.notices = all
	s.response.begin(s.session.Now())
	s.response.refused(refused)
	s.response.events(all)
	if s.request.policy {
		s.response.integers("taken", taken)
	}
	s.response.text("end", end)
	return nil
}

// sent returns the ids of the messages that were not refused.
func (s *server) sent(refused []session.Refusal) []int64 {
	not := make(map[int64]bool, len(refused))
	for i := range refused {
		not[refused[i].ID] = true
	}
	s.request.ids = s.request.ids[:0]
	for i := range s.request.messages {
		if id := s.request.messages[i].ID; len(refused) == 0 || !not[id] {
			s.request.ids = append(s.request.ids, id)
		}
	}
	return given(s.request.ids)
}

// given returns ids that are there: nil would stand for any.
func given(ids []int64) []int64 {
	if ids == nil {
		return []int64{}
	}
	return ids
}

// hello starts the run.
func (s *server) hello(text []byte) (failed *Error) {
	r := &s.request
	if !slices.Contains(r.versions, Version) {
		return &Error{Code: CodeVersion, Field: "v", Fatal: true, Message: fmt.Sprintf(
			"must hold %d, the version of the protocol of fedsim %s", Version, s.options.Version)}
	}
	var declared []results.NamedMetric
	for i := range r.metrics {
		if r.metrics[i].hasValue {
			return &Error{Code: CodeUnknownField, Field: fmt.Sprintf("metrics[%d].value", i),
				Message: "is not a field of this op"}
		}
		declared = append(declared, r.metrics[i].NamedMetric)
	}
	if err := results.CheckNamed(declared); err != nil {
		return &Error{Code: CodeMetric, Field: "metrics", Message: err.Error()}
	}
	h := Hello{Program: r.program, Method: r.method, Notes: r.notes}
	if r.seen&hasSeed != 0 {
		h.Seed = &r.seed
	}
	if s.directory, failed = s.options.Open(h); failed != nil {
		failed.Fatal = true
		return failed
	}
	if err := s.start(declared); err != nil {
		return &Error{Code: CodeScenario, Message: err.Error(), Fatal: true, Cause: err}
	}
	var err error
	if s.digests, err = newDigests(s.directory.Options.Checkpoints.Saver(s.ctx, "lines of the driver")); err != nil {
		return &Error{Code: CodeDirectory, Message: err.Error(), Fatal: true, Cause: err}
	}
	if err := s.digests.add(text); err != nil {
		return &Error{Code: CodeDiverged, Message: err.Error(), Fatal: true}
	}
	s.greet()
	return nil
}

// start starts the session of the run.
func (s *server) start(declared []results.NamedMetric) error {
	setup, about, err := experiment.Driven(s.ctx, s.directory.Run)
	if err != nil {
		return err
	}
	about.Metrics = declared
	s.run, s.clients, s.training, s.system = about, setup.Clients, setup.Rows, &setup.System
	write := func(rows []results.DeviceRow) error { return s.rows.Devices(rows) }
	setup.Journal, s.deviceErr = s.directory.Options.JournalOf(
		s.directory.Run, new(algorithms.Description), &setup.System, setup.Values, write)
	setup.StepFLOPs, setup.Context = s.request.step, s.ctx
	if s.session, err = session.New(*setup); err != nil {
		return err
	}
	s.rows, err = s.directory.Options.Recorder.Begin(0, about)
	return err
}

// greet writes the response to hello.
func (s *server) greet() {
	w, settings := &s.response, &s.directory.Run.Settings
	w.begin(s.session.Now())
	w.integer("v", Version)
	w.text("fedsim_version", s.options.Version)
	w.integer("clients", int64(s.clients))
	w.list("features", len(Features), func(i int) { w.b = appendText(w.b, Features[i]) })
	w.time("detect_ns", s.session.DetectAfter())
	w.integer("overhead_bytes", int64(settings.Federation.Overhead))
	w.text("protocol", settings.Federation.Protocol)
	if deadline := settings.Federation.DeadlineS; deadline > 0 {
		w.time("deadline_ns", engine.FromSeconds(deadline))
	} else {
		w.time("deadline_ns", engine.Never)
	}
	w.name("resume")
	if old := &s.digests.old; old.lines > 0 {
		w.b = append(w.b, '{')
		w.integer("lines", int64(old.lines))
		w.text("digest", old.digest())
		w.b = append(w.b, '}')
	} else {
		w.b = append(w.b, "null"...)
	}
}

// finish stores the run.
func (s *server) finish(r *request) *Error {
	s.failed = r.state == stateFailed
	for _, text := range r.warnings {
		s.warnings = append(s.warnings, results.Warning{About: "driver", Text: text})
	}
	switch {
	case s.failed:
		s.run.Status, s.run.Reason = results.Interrupted, ErrFailed.Error()
	case s.stalled != "":
		s.run.Status, s.run.Reason = results.Stalled, s.stalled
	default:
		s.run.Status = results.Done
	}
	if err := experiment.CheckModels(s.system); err != nil {
		return internal(err)
	}
	if r.model != "" {
		sum, err := hex.DecodeString(r.model[:16])
		if err != nil {
			return internal(err) // parse has checked it
		}
		s.run.ModelHash = binary.BigEndian.Uint64(sum)
	}
	if err := s.end(); err != nil {
		return internal(err)
	}
	place, err := s.directory.Finish(s.rows, s.run, s.failed)
	if err != nil {
		return internal(err)
	}
	s.finished = true
	w := &s.response
	w.begin(s.session.Now())
	w.textOrNull("directory", place)
	w.text("event_hash", results.Hash(s.run.EventHash).String())
	hash := ""
	if r.model != "" {
		hash = results.Hash(s.run.ModelHash).String()
	}
	w.textOrNull("model_hash", hash)
	return nil
}

func (s *server) end() error {
	out := s.session.Finish()
	s.run.EventHash, s.run.Events = out.EventHash, out.Events
	s.run.Warnings = append(append(out.Warnings, s.warnings...), results.Unreported(s.run.Metrics, s.run.Rounds)...)
	s.run.WallS = s.options.Clock().Sub(s.started).Seconds()
	if s.failed || s.run.Status == results.Interrupted {
		if err := s.digests.save(); err != nil {
			return err
		}
	}
	if s.deviceErr != nil {
		return s.deviceErr()
	}
	return nil
}

// interrupt stores the results so far of a run that did not finish.
func (s *server) interrupt(why string) error {
	if s.session == nil {
		return fmt.Errorf("%w: %s; no run was started", ErrInterrupted, why)
	}
	s.run.Status, s.run.Reason = results.Interrupted, ""
	if err := s.end(); err != nil {
		return err
	}
	return s.directory.Suspend(s.rows, s.run, why)
}
