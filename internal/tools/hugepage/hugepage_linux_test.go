package hugepage

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"fedsim/internal/tools/expect"
)

// The flags of the addresses contain "hg".
func TestTheSystemIsAsked(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no transparent huge pages")
	}
	x := make([]float64, 4*size/8)
	Prefer(x)
	address := uintptr(unsafe.Pointer(&whole(x)[0]))
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = maps.Close() }()
	within := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uintptr
		line := lines.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 && strings.Contains(strings.Fields(line)[0], "-") {
			within = from <= address && address < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && within {
			expect.That(t, strings.Contains(flags+" ", " hg "), "the flags of the array are%s", flags)
			return
		}
	}
	t.Skip("the system does not report the flags of addresses")
}
