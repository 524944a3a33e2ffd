package work

import "os"

// Process identifies a process for others of the same machine.
type Process struct {
	PID     int    `json:"pid"`
	Machine string `json:"machine,omitempty"` // its boot and its space of process numbers; empty: not known
	Start   string `json:"start,omitempty"`   // in clock ticks since the boot
}

// ThisProcess returns the running process.
func ThisProcess() Process {
	p := Process{PID: os.Getpid(), Machine: machine()}
	p.Start, _ = startOf(p.PID)
	return p
}

// ended reports whether the process is known to have ended: it was one of this machine.
func (p Process) ended() bool {
	if p.Machine == "" || p.Machine != machine() {
		return false
	}
	start, lives := startOf(p.PID)
	return !lives || start != "" && start != p.Start
}
