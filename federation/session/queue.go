package session

import (
	"cmp"
	"slices"

	"fedsim/clients"
	"fedsim/engine"
)

// queue is the messages of a session: those on their way, and those that have ended since the
// last Close. A client is at one message at a time; further ones to it wait for their turn.
type queue struct {
	messages  []pending // by place
	free      []int32   // places
	ids       map[int64]int32
	current   []int32 // by device, the place of the message that it is at; -1: none
	last      []int32 // by device, the place of the last message behind that one, or its own
	open      int     // the number of messages that have not ended
	undecided int     // the number of those whose work is not known
	finished  []int32 // the places of messages that have ended since the last Close
	order     []int32 // scratch: places
}

// pending is a message on its way.
type pending struct {
	Message
	due      engine.Time // the instant at which the driver learns of its failure or its expiry; Never: none
	timer    int32       // the place of the message in the heap of timers; -1: none
	next     int32       // the place of the message that waits behind this one; -1: none
	round    int32       // the number of rounds when the message was sent
	state    state
	why      clients.Reason // of a failure
	detected bool           // the driver learns of the failure at due
	awaited  bool           // a Wait names the message
	update   bool           // the message requests an update
	query    bool           // the message requests another response that the server may count
	policy   bool           // the message is one of Round
	late     bool           // the message was counted as late
	broken   bool           // the response reports an error of the client
	unread   bool           // the notice of the end is in the backlog
}

type state uint8

const (
	queued    state = iota // behind another message to the client
	underWay               // the client works on the message
	asking                 // the client has the message, and waits for Work
	failed                 // the message has failed, and the driver has not learned of it
	responded              // the response has arrived
	over                   // the message has ended otherwise
)

func (p *pending) ended() bool { return p.state >= responded }

func newQueue(devices int) queue {
	q := queue{ids: map[int64]int32{}, current: make([]int32, devices), last: make([]int32, devices)}
	for client := range q.current {
		q.current[client] = -1
	}
	return q
}

// of returns the message that a device is at; it must be at one.
func (q *queue) of(client int) *pending { return &q.messages[q.current[client]] }

// bytesDown returns the size of the message that a device is at; 0: it is at none.
func (q *queue) bytesDown(client int) float64 {
	if q.current[client] < 0 {
		return 0
	}
	return q.of(client).BytesDown
}

// withID returns the message with an id that is known.
func (q *queue) withID(id int64) *pending { return &q.messages[q.ids[id]] }

func (q *queue) place(id int64) (int32, error) {
	place, known := q.ids[id]
	if !known {
		return 0, refuse(CodeUnknownID, id, "message %d: there is none with this id, or its round was closed", id)
	}
	return place, nil
}

// byClient compares the messages at two places by their clients, then by their ids.
func (q *queue) byClient(a, b int32) int {
	x, y := &q.messages[a], &q.messages[b]
	return cmp.Or(cmp.Compare(x.Client, y.Client), cmp.Compare(x.ID, y.ID))
}

// add stores messages of a kind that are sent after so many rounds, and returns their places in
// the order of their devices. The list is valid until the next call.
func (q *queue) add(kind string, all []Message, round int) []int32 {
	q.order = q.order[:0]
	for i := range all {
		var place int32
		if n := len(q.free); n > 0 {
			place, q.free = q.free[n-1], q.free[:n-1]
		} else {
			place = int32(len(q.messages))
			q.messages = append(q.messages, pending{})
		}
		m := &q.messages[place]
		*m = pending{Message: all[i], due: engine.Never, timer: -1, next: -1, round: int32(round),
			update: kind == Train, query: kind == Query}
		q.ids[m.ID] = place
		q.open++
		if m.Undecided {
			q.undecided++
		}
		q.order = append(q.order, place)
	}
	device := func(a, b int32) int { return cmp.Compare(q.messages[a].Client, q.messages[b].Client) }
	if !slices.IsSortedFunc(q.order, device) {
		slices.SortStableFunc(q.order, device)
	}
	return q.order
}

// withdraw removes a message that was not sent.
func (q *queue) withdraw(place int32) {
	q.open--
	q.decide(&q.messages[place])
	q.remove(place)
}

func (q *queue) remove(place int32) {
	delete(q.ids, q.messages[place].ID)
	q.free = append(q.free, place)
}

// decide notes that the work of a message is known, or of no interest.
func (q *queue) decide(m *pending) {
	if m.Undecided {
		m.Undecided = false
		q.undecided--
	}
}

// start puts a message in the place that its device is at.
func (q *queue) start(place int32) {
	client := q.messages[place].Client
	q.current[client], q.last[client] = place, place
}

// line lets a message wait for its turn. It reports whether its turn has come.
func (q *queue) line(place int32) (now bool) {
	client := q.messages[place].Client
	before := q.last[client]
	q.last[client] = place
	if q.current[client] < 0 {
		return true
	}
	q.messages[before].next = place
	return false
}

// unlink takes a message that has ended from the line of its device. It returns the place of the
// message whose turn has come; -1: none.
func (q *queue) unlink(place int32) (next int32) {
	m := &q.messages[place]
	client := m.Client
	if q.current[client] == place {
		q.current[client] = m.next
		return m.next
	}
	before := q.current[client]
	for q.messages[before].next != place {
		before = q.messages[before].next
	}
	q.messages[before].next = m.next
	if m.next < 0 {
		q.last[client] = before
	}
	return -1
}

// once finds two messages to a client in one call.
type once struct {
	marks []int // by device, the last call that had it
	calls int
}

// check refuses two messages to a client.
func (o *once) check(all []Message) error {
	o.calls++
	for i := range all {
		client := all[i].Client
		if client < 0 || client >= len(o.marks) {
			continue // see checkMessage
		}
		if o.marks[client] == o.calls {
			return refuse(CodeClient, all[i].ID, "message %d: client %d: has another message of this call", all[i].ID,
				client)
		}
		o.marks[client] = o.calls
	}
	return nil
}
