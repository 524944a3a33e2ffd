package traces

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Limits of a pickle.
const (
	// pickleMemory is the approximate limit of the memory of a pickle's values, in
	// bytes.
	pickleMemory = 1 << 30

	maxPickleText  = 1 << 20 // bytes of one text
	maxPickleMarks = 64      // nesting depth of lists, dicts and tuples
)

// tag is the type of a value.
type tag uint8

const (
	none tag = iota
	boolean
	whole    // bits: int64
	real     // bits: float64
	text     // bits: index into texts
	list     // bits: index into lists
	tuple    // bits: index into lists
	dict     // bits: index into dicts
	tagCount = iota
)

var tagNames = [tagCount]string{"None", "a bool", "an int", "a float", "a text", "a list", "a tuple", "a dict"}

func (t tag) String() string { return tagNames[t] }

// value is an object of a pickle. It has no pointers: the tables of the decoder hold
// what does not fit into bits.
type value struct {
	tag  tag
	bits uint64
}

const valueBytes = 16

// number returns an int, a float or a bool as a number.
func (v value) number() (x float64, ok bool) {
	switch v.tag {
	case whole, boolean:
		return float64(int64(v.bits)), true
	case real:
		return math.Float64frombits(v.bits), true
	default:
		return 0, false
	}
}

// dictionary has the items of a dict in the order of insertion: key, value, key, value.
// Of duplicate keys, the last one counts.
type dictionary struct {
	at    int64 // offset in the file
	items []value
}

// pickle decodes one object of None, bools, ints of 64 bits, floats, texts, lists,
// tuples and dicts. It has no code to import or call anything. It reads byte by byte.
// Its memory is a multiple of the bytes read, whatever lengths the input claims, and at
// most about limit bytes. The items of the outermost dict can be streamed
// (pickle_stream.go).
type pickle struct {
	in     *bufio.Reader
	offset int64 // of the next byte
	opcode int64 // offset of the current opcode
	stack  []value
	marks  []int // heights of the stack
	memo   []value
	texts  []string
	lists  [][]value
	dicts  []dictionary
	used   int64 // bytes of the tables
	limit  int64
	stream stream
}

func newPickle(r io.Reader, limit int64) *pickle {
	return &pickle{in: bufio.NewReaderSize(r, 1<<16), limit: limit}
}

// decode returns the only object of the input, or a *ParseError with the offset of the
// invalid opcode.
func (p *pickle) decode(name string) (value, error) {
	root, err := p.load()
	if err == nil {
		if _, more := p.in.ReadByte(); more == nil {
			p.opcode = p.offset
			err = errors.New("data after the pickle: the file must hold one object")
		} else if more != io.EOF {
			p.opcode = p.offset
			err = more
		}
	}
	if err != nil {
		return value{}, &ParseError{File: name, Offset: p.opcode, Err: err}
	}
	return root, nil
}

func (p *pickle) load() (value, error) {
	for {
		p.opcode = p.offset
		op, err := p.byte()
		if err != nil {
			return value{}, err
		}
		if op == opStop {
			root, err := p.pop()
			if err == nil && (len(p.stack) > 0 || len(p.marks) > 0) {
				err = errors.New("opcode STOP with several objects on the stack: must have one")
			}
			return root, err
		}
		if err := p.do(op); err != nil {
			return value{}, err
		}
	}
}

// do executes one opcode.
func (p *pickle) do(op byte) error {
	switch op {
	case opProto:
		version, err := p.byte()
		if err == nil && version > 5 {
			return fmt.Errorf("protocol %d: must be 2 to 5", version)
		}
		return err
	case opFrame:
		// A frame only allows the reader to fetch bytes in advance.
		_, err := p.bytes(8)
		return err
	case opNone:
		return p.push(value{tag: none})
	case opNewTrue:
		return p.push(value{boolean, 1})
	case opNewFalse:
		return p.push(value{boolean, 0})
	case opBinInt, opBinInt1, opBinInt2, opLong1, opLong4, opBinFloat:
		v, err := p.readNumber(op)
		if err != nil {
			return err
		}
		return p.push(v)
	case opBinString, opShortBinString, opBinUnicode, opShortBinUnicode, opBinUnicode8:
		s, err := p.readText(op)
		if err != nil {
			return err
		}
		return p.pushText(s)
	case opBinGet, opLongBinGet, opBinPut, opLongBinPut, opMemoize:
		return p.remember(op)
	case opMark:
		if len(p.marks) == maxPickleMarks {
			return fmt.Errorf("more than %d lists, dicts and tuples are open at once", maxPickleMarks)
		}
		p.marks = append(p.marks, len(p.stack))
		return nil
	case opPop, opPopMark, opDup:
		return p.shuffle(op)
	case opEmptyList, opList, opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3, opEmptyDict, opDict:
		return p.build(op)
	case opAppend, opAppends, opSetItem, opSetItems:
		return p.extend(op)
	default:
		return refuseOpcode(op)
	}
}

// plainDump is Python code that writes a trace without objects or shared lists.
const plainDump = `pickle.dump(json.loads(json.dumps(d, default=lambda x: x.item())), open("plain.pkl", "wb"))`

// refuseOpcode returns the reason for rejecting an opcode.
func refuseOpcode(op byte) error {
	if name, ok := running[op]; ok {
		return fmt.Errorf("opcode %s would run code or fetch objects of Python, which is not allowed; if the numbers are numpy's, write the file again with plain numbers: %s", name, plainDump)
	}
	if name, ok := early[op]; ok {
		return fmt.Errorf("opcode %s is of protocol 0 or 1, and must be of 2 to 5: write the file again with Python 3: %s", name, plainDump)
	}
	if name, ok := foreign[op]; ok {
		return fmt.Errorf("opcode %s makes bytes or sets: a trace holds numbers, texts, lists, tuples and dicts", name)
	}
	return fmt.Errorf("unknown opcode 0x%02x: the file is corrupt or not a pickle of protocol 2 to 5", op)
}

// charge counts memory before it is allocated.
func (p *pickle) charge(bytes int64) error {
	if p.used += bytes; p.used > p.limit {
		return fmt.Errorf("the values take more than %d bytes", p.limit)
	}
	return nil
}

func (p *pickle) push(v value) error {
	p.stack = append(p.stack, v)
	return p.charge(valueBytes)
}

func (p *pickle) pushText(s string) error {
	p.texts = append(p.texts, s)
	if err := p.charge(int64(len(s)) + valueBytes); err != nil {
		return err
	}
	return p.push(value{text, uint64(len(p.texts) - 1)})
}

var errStack = errors.New("the opcode takes more objects than there are")

// floor returns the height of the stack at the innermost mark.
func (p *pickle) floor() int {
	if n := len(p.marks); n > 0 {
		return p.marks[n-1]
	}
	return 0
}

func (p *pickle) pop() (value, error) {
	n := len(p.stack)
	if n <= p.floor() {
		return value{}, errStack
	}
	v := p.stack[n-1]
	p.stack = p.stack[:n-1]
	p.used -= valueBytes
	return v, nil
}

// top returns the last n objects of the stack above the mark.
func (p *pickle) top(n int) ([]value, error) {
	if len(p.stack)-n < p.floor() {
		return nil, errStack
	}
	return p.stack[len(p.stack)-n:], nil
}

// marked returns the objects above the innermost mark, and closes it. They stay on the
// stack until drop.
func (p *pickle) marked() ([]value, error) {
	n := len(p.marks)
	if n == 0 {
		return nil, errors.New("the opcode closes a mark, and none is open")
	}
	from := p.marks[n-1]
	p.marks = p.marks[:n-1]
	return p.stack[from:], nil
}

func (p *pickle) drop(n int) {
	p.stack = p.stack[:len(p.stack)-n]
	p.used -= valueBytes * int64(n)
}

func (p *pickle) shuffle(op byte) error {
	switch op {
	case opPopMark:
		items, err := p.marked()
		p.drop(len(items))
		return err
	case opDup:
		last, err := p.top(1)
		if err != nil {
			return err
		}
		return p.push(last[0])
	default:
		if n := len(p.marks); n > 0 && p.marks[n-1] == len(p.stack) {
			p.marks = p.marks[:n-1] // a mark is an object to POP
			return nil
		}
		_, err := p.pop()
		return err
	}
}

// build makes a list, tuple or dict from objects on the stack.
func (p *pickle) build(op byte) error {
	var items []value
	var err error
	switch op {
	case opList, opTuple, opDict:
		items, err = p.marked()
	case opTuple1, opTuple2, opTuple3:
		items, err = p.top(int(op-opTuple1) + 1)
	}
	if err != nil {
		return err
	}
	held := slices.Clone(items)
	p.drop(len(items))
	const header = 32
	if err := p.hold(header + valueBytes*int64(len(held))); err != nil {
		return err
	}
	if op == opEmptyDict || op == opDict {
		if err := p.keys(held); err != nil {
			return err
		}
		p.dicts = append(p.dicts, dictionary{at: p.opcode, items: held})
		return p.push(value{dict, uint64(len(p.dicts) - 1)})
	}
	made := tuple
	if op == opEmptyList || op == opList {
		made = list
	}
	p.lists = append(p.lists, held)
	return p.push(value{made, uint64(len(p.lists) - 1)})
}

// keys checks the keys of a dict: texts or ints.
func (p *pickle) keys(items []value) error {
	if len(items)%2 != 0 {
		return errors.New("a dict has a key without a value")
	}
	for i := 0; i < len(items); i += 2 {
		if t := items[i].tag; t != text && t != whole {
			return fmt.Errorf("a dict has %v as a key: must be a text or an int", t)
		}
	}
	return nil
}

// extend adds objects on the stack to the list or dict below them.
func (p *pickle) extend(op byte) error {
	var items []value
	var err error
	switch op {
	case opAppend:
		items, err = p.top(1)
	case opSetItem:
		items, err = p.top(2)
	default:
		items, err = p.marked()
	}
	if err != nil {
		return err
	}
	below := len(p.stack) - len(items) - 1
	if below < p.floor() {
		return errStack
	}
	target := p.stack[below]
	if op == opSetItem || op == opSetItems {
		if taken, err := p.take(target, below, items); taken || err != nil {
			return err
		}
	}
	if err := p.hold(valueBytes * int64(len(items))); err != nil {
		return err
	}
	switch {
	case (op == opAppend || op == opAppends) && target.tag == list:
		p.lists[target.bits] = append(p.lists[target.bits], items...)
	case (op == opSetItem || op == opSetItems) && target.tag == dict:
		if err := p.keys(items); err != nil {
			return err
		}
		p.dicts[target.bits].items = append(p.dicts[target.bits].items, items...)
	default:
		return fmt.Errorf("the opcode puts items into %v", target.tag)
	}
	p.drop(len(items))
	return nil
}

// remember stores an object in the memo, or loads one.
func (p *pickle) remember(op byte) error {
	var index uint64
	var err error
	switch op {
	case opMemoize:
		index = uint64(len(p.memo))
	case opBinGet, opBinPut:
		index, err = p.uint(1)
	default:
		index, err = p.uint(4)
	}
	if err != nil {
		return err
	}
	if op == opBinGet || op == opLongBinGet {
		if index >= uint64(len(p.memo)) || p.memo[index].tag == absent {
			return fmt.Errorf("the memo has no object %d", index)
		}
		if p.memo[index].tag == released {
			return fmt.Errorf("the memo's object %d belongs to an earlier device that was released: write the file again without shared lists: %s", index, plainDump)
		}
		return p.push(p.memo[index])
	}
	last, err := p.top(1)
	if err != nil {
		return err
	}
	// Picklers count from 0 or 1 without gaps, so an object's number is less than the offset.
	if index > uint64(p.offset) {
		return fmt.Errorf("the memo's object %d comes after %d bytes: its numbers must have no gaps", index, p.offset)
	}
	for uint64(len(p.memo)) <= index {
		p.memo = append(p.memo, value{tag: absent})
		if err := p.charge(valueBytes); err != nil {
			return err
		}
	}
	p.memo[index] = last[0]
	return nil
}

const (
	absent   tag = 255 // an unused number of the memo
	released tag = 254 // an object that was released
)

// lookup returns the last value of a text key.
func (p *pickle) lookup(d value, key string) (value, bool) {
	items := p.dicts[d.bits].items
	for i := len(items) - 2; i >= 0; i -= 2 {
		if items[i].tag == text && p.texts[items[i].bits] == key {
			return items[i+1], true
		}
	}
	return value{}, false
}

func (p *pickle) byte() (byte, error) {
	b, err := p.in.ReadByte()
	if err != nil {
		return 0, ended(err)
	}
	p.offset++
	return b, nil
}

// bytes returns the next n bytes, at most 16. They are valid until the next call.
func (p *pickle) bytes(n int) ([]byte, error) {
	b, err := p.in.Peek(n)
	if err != nil {
		return nil, ended(err)
	}
	p.offset += int64(n)
	_, err = p.in.Discard(n)
	return b, err
}

func ended(err error) error {
	if err == io.EOF {
		return errors.New("unexpected end of the pickle: the file is truncated")
	}
	return err
}
