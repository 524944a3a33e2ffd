package algorithms

import (
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
)

// Link encodes and decodes the messages of a method. A message has one vector or several of the
// same size, each coded alone. The receiver uses the decoded vectors. With error feedback a
// device codes v + e, where the residual e is the error of its last message that arrived.
type Link struct {
	coding *Coding
	seed   uint64
	values int // of a vector
	whole  int // bytes of a vector that is not compressed

	feedback bool
	ups      []uplink
	coders   []Codec     // of devices' messages, by worker
	space    [][]float64 // by worker, for a residual; nil without feedback

	down    Codec // of the server's messages
	downs   []downlink
	version int // of the server's messages; 0: there was none
	step    int // of the server that the present version is of, in a run without rounds
	// versions, by device: of its last message that arrived, and of the one that it was sent; nil: no message needs
	// others
	held, asked []int

	flops float64 // of the server's codes that are not accounted for yet
}

// uplink is one of the vectors of devices' messages.
type uplink struct {
	left, next *Slots // by device: its residual, and the tentative one; nil without feedback
}

// downlink is one of the vectors of the server's messages.
type downlink struct {
	shown     []float64 // the vector as devices with the present version decode it; nil: the vector itself
	increment []float64 // scratch
	bytes     int       // of the message of the present version
}

// NewLink returns the link of messages of so many vectors of d values, down to devices and up from them; nil without
// compression. With always, every lossy code of a device is fed back. Without a problem no vectors are coded.
func NewLink(s Setup, down, up, d int, always bool) *Link {
	c := s.Coding
	if c == nil {
		return nil
	}
	n := len(s.Rows)
	if s.Problem != nil {
		n = s.Problem.Clients()
	}
	l := &Link{
		coding: c, seed: s.Seed, values: d, whole: s.ValueBytes * d, step: -1,
		feedback: c.FeedsBack || always && !c.Up.Lossless,
		ups:      make([]uplink, up), downs: make([]downlink, down),
		down: c.Down.New(s.ValueBytes, false),
	}
	for range s.Workers {
		l.coders = append(l.coders, c.Up.New(s.ValueBytes, !l.feedback))
		if l.feedback && s.Problem != nil {
			l.space = append(l.space, make([]float64, d))
		}
	}
	for i := range l.ups {
		if l.feedback && s.Problem != nil {
			l.ups[i] = uplink{NewSlots(s.Problem, d), NewSlots(s.Problem, d)}
		}
	}
	for i := range l.downs {
		if l.downs[i].bytes = l.down.Bytes(d); !c.Down.None && s.Problem != nil {
			l.downs[i].shown, l.downs[i].increment = make([]float64, d), make([]float64, d)
		}
	}
	if l.increments() {
		l.held, l.asked = make([]int, n), make([]int, n)
	}
	return l
}

// increments reports whether the server's messages are changes of the vectors that devices hold.
func (l *Link) increments() bool { return l.coding.Down.Biased }

// Finish codes a vector that a device computed, in place, and adds its size and the FLOPs to the
// work. The vectors of a message come in order.
func (l *Link) Finish(r Request, update []float64, response *Response) {
	if l == nil {
		response.Values += len(update)
		return
	}
	i := response.vectors
	response.vectors++
	up, coder := &l.ups[i], l.coders[r.Worker]
	if i == 0 {
		response.FLOPs += l.perMessage()
		if l.step < 0 { // there are rounds
			l.ask(r.Device)
		}
	}
	stream := rng.New(r.Stream.Uint64(), rng.Compression, r.Device, i)
	if up.next == nil {
		response.Values += coder.Code(update, stream)
		return
	}
	next := l.space[r.Worker]
	up.left.AddTo(r.Device, 1, update)
	copy(next, update)
	response.Values += coder.Code(update, stream)
	kernel.Axpy(-1, update, next)
	up.next.Store(r.Device, next)
}

// Commit makes the device's residual final. The server decodes the message.
func (l *Link) Commit(device int) {
	if l == nil {
		return
	}
	if l.held != nil {
		l.held[device] = l.asked[device]
	}
	for _, up := range l.ups {
		if up.next != nil {
			up.left.ReplaceBy(up.next, device)
		}
	}
	_, decode := l.coders[0].FLOPs(l.values)
	l.flops += float64(decode * float64(len(l.ups)))
}

// Discard forgets the device's tentative residual.
func (l *Link) Discard(device int) {
	if l == nil {
		return
	}
	for _, up := range l.ups {
		if up.next != nil {
			up.next.Release(device)
		}
	}
}

// open makes the server's messages from the vectors, and returns their usual size.
func (l *Link) open(vectors ...[]float64) (amount int) {
	if l == nil {
		for _, v := range vectors {
			amount += len(v)
		}
		return amount
	}
	l.version++
	for i, v := range vectors {
		l.downs[i].open(l, v, rng.New(l.seed, rng.Compression, -1-i, l.version))
	}
	for i := range l.downs {
		amount += l.downs[i].bytes
	}
	return amount
}

// open makes the message of a vector.
func (d *downlink) open(l *Link, v []float64, s rng.Stream) {
	encode, decode := l.down.FLOPs(l.values)
	switch {
	case d.shown == nil:
	case !l.increments():
		copy(d.shown, v)
		d.bytes = l.down.Code(d.shown, s)
		l.flops += encode
	case l.version == 1: // no device holds anything
		copy(d.shown, v)
	default:
		copy(d.increment, v)
		kernel.Axpy(-1, d.shown, d.increment)
		l.down.Code(d.increment, s)
		kernel.Axpy(1, d.increment, d.shown)
		l.flops += encode + decode + float64(2*float64(len(v)))
	}
}

// Send fixes the message to a device in a run without rounds, after so many steps of the
// server, and returns its size.
func (l *Link) Send(device, step int, vectors ...[]float64) (amount int) {
	if l == nil {
		return l.open(vectors...)
	}
	if step != l.step {
		l.step = step
		l.open(vectors...)
	}
	l.ask(device)
	return l.size(device)
}

// ask notes that a device is sent the present version.
func (l *Link) ask(device int) {
	if l.held != nil {
		l.asked[device] = l.version
	}
}

// Shown returns a vector as devices decode it.
func (l *Link) Shown(i int, v []float64) []float64 {
	if l == nil || l.downs[i].shown == nil {
		return v
	}
	return l.downs[i].shown
}

// Residual returns the error of a device's messages of a vector, which error feedback adds to the next one; nil: none.
func (l *Link) Residual(i, device int) []float64 {
	if l == nil || l.ups[i].left == nil {
		return nil
	}
	return l.ups[i].left.At(device, nil)
}

// size returns the bytes of the open message to a device. Of changes, a device is sent all
// those that it has missed, or the whole model if that is smaller. The server knows of the messages that
// were answered.
func (l *Link) size(device int) (bytes int) {
	for i := range l.downs {
		bytes += l.downs[i].bytes
	}
	if l.held == nil {
		return bytes
	}
	whole := l.whole * len(l.downs)
	if held := l.held[device]; held > 0 {
		return min((l.version-held)*bytes, whole)
	}
	return whole
}

// usual returns the usual bytes of the messages to and from a device.
func (l *Link) usual(int) (down, up int) {
	return l.down.Bytes(l.values) * len(l.downs), l.coders[0].Bytes(l.values) * len(l.ups)
}

// perMessage returns the FLOPs of a device on the codes of its messages: it decodes the server's,
// and encodes its own. With feedback it adds and subtracts the residual, for which it decodes
// its own message. Changes are added to the vectors that it holds.
func (l *Link) perMessage() float64 {
	_, received := l.down.FLOPs(l.values)
	if l.held != nil {
		received += float64(l.values)
	}
	encode, decode := l.coders[0].FLOPs(l.values)
	if l.feedback {
		encode += decode + float64(2*float64(l.values))
	}
	return float64(received*float64(len(l.downs))) + float64(encode*float64(len(l.ups)))
}

// One returns the size of a number that is not compressed.
func (l *Link) One() int {
	if l == nil {
		return 1
	}
	return l.whole / l.values
}

// Describe adds the sizes and the work of coded messages to a description.
func (l *Link) Describe(d *Description) {
	if l != nil {
		d.Messages.Bytes, d.Messages.Differ, d.Messages.Usual, d.Messages.FLOPs = true, true, l.usual, l.perMessage()
	}
}

// Begin is open of the messages of a round.
func (l *Link) Begin(vectors ...[]float64) (Sent, error) { return l.Sent(l.open(vectors...)), nil }

// Sent returns the open messages of a size; to each device its own with codes.
func (l *Link) Sent(size int) Sent {
	if l == nil {
		return Sent{Size: size}
	}
	return Sent{size, l.size}
}

// Take returns the server's work on codes since the last call.
func (l *Link) Take() float64 {
	if l == nil {
		return 0
	}
	flops := l.flops
	l.flops = 0
	return flops
}

// State codes the versions that devices hold and their residuals, tentative ones included.
func (l *Link) State(c *state.Coder) {
	if l == nil {
		return
	}
	for _, up := range l.ups {
		if up.next != nil {
			up.left.State(c)
			up.next.State(c)
		}
	}
	c.Int(&l.version)
	c.Int(&l.step)
	for i := range l.downs {
		d := &l.downs[i]
		c.Int(&d.bytes)
		if d.shown != nil {
			c.Float64s(d.shown)
		}
	}
	if l.held != nil {
		c.Ints(l.held)
		c.Ints(l.asked)
	}
	c.Float64(&l.flops)
}
