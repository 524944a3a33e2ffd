//go:build linux && (amd64 || arm64)

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { programs["call-by-call"] = callByCall }

// fileCalls are the system calls that change which files are there, or make them durable.
var fileCalls = []uint32{
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_LINKAT,
	unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE,
}

// callByCall runs fedsim and hears of every call of fileCalls before it is made, see
// seccomp_unotify(2):
//
//	call-by-call copy FROM TO ARGUMENTS...  copies the folder FROM to TO/1, TO/2, ...: what a kill
//	at that moment would leave. TO/1.ok means that the copy is whole.
//	call-by-call fail N ARGUMENTS...  makes the N-th call, from 1, and all later ones fail
func callByCall() {
	listener, err := reportCalls(fileCalls)
	if err != nil {
		fail(err)
	}
	var fails func() bool
	rest := os.Args[4:]
	made := 0
	switch os.Args[1] {
	case "copy":
		from, to := os.Args[2], os.Args[3]
		last := ""
		fails = func() bool {
			if now := facts(from); now != last {
				copyWhole(from, to, &made)
				last = now
			}
			return false
		}
	case "fail":
		first, err := strconv.Atoi(os.Args[2])
		if err != nil {
			fail(err)
		}
		rest = os.Args[3:]
		fails = func() bool { made++; return made >= first }
	}
	go func() {
		for {
			var call reportedCall
			if control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&call)) != nil {
				continue // a signal came, or the caller is gone
			}
			answer := callAnswer{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			if fails() {
				answer.flags, answer.failure = 0, -int32(unix.EIO)
			}
			_ = control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)) // the caller may be gone
		}
	}()
	os.Exit(Main(rest, os.Stdout, os.Stderr))
}

// facts describes the files of a folder.
func facts(dir string) string {
	var all strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return nil // it was removed
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return all.String()
}

// copyWhole copies a folder, again while other threads change it. It makes none of fileCalls.
func copyWhole(from, to string, number *int) {
	for {
		*number++
		name := filepath.Join(to, strconv.Itoa(*number))
		if _, err := os.Stat(from); err != nil {
			return
		}
		if os.CopyFS(name, os.DirFS(from)) == nil {
			_ = os.WriteFile(name+".ok", nil, 0o666)
			return
		}
	}
}

// reportedCall is struct seccomp_notif, callAnswer is struct seccomp_notif_resp.
type (
	reportedCall struct {
		id   uint64
		rest [9]uint64
	}
	callAnswer struct {
		id      uint64
		value   int64
		failure int32
		flags   uint32
	}
)

// reportCalls makes the kernel report system calls of all threads of this process, which wait
// for an answer, to the file that it returns.
func reportCalls(calls []uint32) (listener int, err error) {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number of the call
	for _, call := range calls {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("no new privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC |
		unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	fd, _, number := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&program)))
	if number != 0 {
		return 0, fmt.Errorf("seccomp: %w", number)
	}
	return int(fd), nil
}

func control(file int, request uint, argument unsafe.Pointer) error {
	if _, _, number := unix.Syscall(unix.SYS_IOCTL, uintptr(file), uintptr(request), uintptr(argument)); number != 0 {
		return number
	}
	return nil
}
