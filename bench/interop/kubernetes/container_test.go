package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// container is a process with a private file system, host name and process IDs, as
// container runtimes give it.
type container struct {
	Root     string // folder of the image's files
	ReadOnly bool   // the root file system is read-only
	Mounts   []mount
	Hostname string
	UID, GID int
	Groups   []int
	Args     []string
	Env      []string
}

// mount is a folder of this machine in a container.
type mount struct {
	From, To string
	ReadOnly bool
}

// containerVariable has a container in JSON, in the process that becomes it.
const containerVariable = "FEDSIM_TEST_CONTAINER"

// command returns a command that runs the container. It is this program, which becomes the
// container's after enterContainer.
func (c *container) command() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{containerVariable + "=" + string(spec)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
		syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	return cmd, nil
}

// enterContainer turns this process, in new namespaces, into that of a container. It returns
// only an error.
func enterContainer(spec string) error {
	var c container
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	bind := func(from, to string) error {
		return errors.Join(os.MkdirAll(to, 0o755), unix.Mount(from, to, "", unix.MS_BIND, ""))
	}
	if err := bind(c.Root, c.Root); err != nil {
		return err
	}
	if err := bind("/proc", filepath.Join(c.Root, "proc")); err != nil { // replaced below: makes the folder
		return err
	}
	if err := unix.Mount("proc", filepath.Join(c.Root, "proc"), "proc", 0, ""); err != nil {
		return err
	}
	for _, m := range append(c.Mounts, mount{From: c.Root, To: "/", ReadOnly: c.ReadOnly}) {
		to := filepath.Join(c.Root, m.To)
		if m.To != "/" {
			if err := bind(m.From, to); err != nil {
				return fmt.Errorf("%s: %w", m.To, err)
			}
		}
		if m.ReadOnly {
			if err := unix.Mount("", to, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(unix.Sethostname([]byte(c.Hostname)), unix.Chdir(c.Root), unix.PivotRoot(".", "."),
		unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")); err != nil {
		return err
	}
	// No capability can come back: the user is not root, and no new privileges are given.
	if err := errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), syscall.Setgroups(c.Groups),
		syscall.Setgid(c.GID), syscall.Setuid(c.UID),
		// The kernel forgot this when the user changed.
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", c.Args[0], syscall.Exec(c.Args[0], c.Args, c.Env))
}
