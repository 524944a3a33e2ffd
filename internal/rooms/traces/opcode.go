package traces

// The opcodes of Python's pickle, protocols 2 to 5, with the names of Python's module
// pickletools.
const (
	opMark            = '('
	opStop            = '.'
	opPop             = '0'
	opPopMark         = '1'
	opDup             = '2'
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opNone            = 'N'
	opBinString       = 'T'
	opShortBinString  = 'U'
	opBinUnicode      = 'X'
	opAppend          = 'a'
	opDict            = 'd'
	opEmptyDict       = '}'
	opAppends         = 'e'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opList            = 'l'
	opEmptyList       = ']'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opTuple           = 't'
	opEmptyTuple      = ')'
	opSetItems        = 'u'
	opBinFloat        = 'G'
	opProto           = 0x80
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opNewTrue         = 0x88
	opNewFalse        = 0x89
	opLong1           = 0x8a
	opLong4           = 0x8b
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opMemoize         = 0x94
	opFrame           = 0x95
)

// running are the opcodes that import, call or rebuild an object, or load it from
// outside the file. The decoder rejects all of them.
var running = map[byte]string{
	'c': "GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 'P': "PERSID", 'Q': "BINPERSID",
	0x81: "NEWOBJ", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x92: "NEWOBJ_EX", 0x93: "STACK_GLOBAL",
	0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// early are the opcodes of protocols 0 and 1 for numbers and texts in lines, which Python 3 writes
// only when asked to.
var early = map[byte]string{'I': "INT", 'L': "LONG", 'F': "FLOAT", 'S': "STRING", 'V': "UNICODE", 'g': "GET", 'p': "PUT"}

// foreign are the opcodes for values that a trace does not have.
var foreign = map[byte]string{
	'B': "BINBYTES", 'C': "SHORT_BINBYTES", 0x8e: "BINBYTES8", 0x96: "BYTEARRAY8",
	0x8f: "EMPTY_SET", 0x90: "ADDITEMS", 0x91: "FROZENSET",
}
