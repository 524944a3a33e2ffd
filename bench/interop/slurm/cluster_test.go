package slurm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"
)

// cluster is Slurm on this machine: a controller and the nodes n1 and n2, all on the
// loopback interface and in a folder of their own.
type cluster struct {
	dir  string   // the folder
	lock *os.File // locked while the test runs
	env  []string // environment for Slurm's commands
}

// nodeName is the environment variable with the name of a node. Slurm sets it for scripts, and
// start for the daemon of the node and for its children.
const nodeName = "SLURMD_NODENAME"

// folders is the prefix of the folders of clusters. The path of munge's socket is in one and
// must be short, so they are not in the folder of a test.
const folders = "fedsim-slurm-"

// configuration is slurm.conf. A requeued task waits for cred_expire and one second more.
var configuration = template.Must(template.New("slurm.conf").Parse(`
ClusterName=fedsim
SlurmctldHost={{.Host}}(127.0.0.1)
SlurmctldPort={{index .Ports 0}}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={{.Dir}}/munge/socket,cred_expire=5
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPidFile={{.Dir}}/slurmctld.pid
SlurmdPidFile={{.Dir}}/slurmd-%n.pid
StateSaveLocation={{.Dir}}/state
SlurmdSpoolDir={{.Dir}}/spool-%n
SlurmctldLogFile={{.Dir}}/slurmctld.log
SlurmdLogFile={{.Dir}}/slurmd-%n.log
SlurmdParameters=config_overrides
SlurmdTimeout=10
MessageTimeout=5
KillWait=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
NodeName=n1 NodeHostname={{.Host}} NodeAddr=127.0.0.1 Port={{index .Ports 1}} CPUs=1 RealMemory=4000
NodeName=n2 NodeHostname={{.Host}} NodeAddr=127.0.0.1 Port={{index .Ports 2}} CPUs=1 RealMemory=4000
PartitionName=debug Nodes=n1,n2 Default=YES
`))

// start starts a cluster. It is stopped at the end of the test; a test process that was
// killed leaves that to the next one.
func start(ctx context.Context, t *testing.T) *cluster {
	t.Helper()
	stopLeftovers(t)
	const attempts = 3
	for attempt := 1; ; attempt++ {
		c, err := newCluster(t)
		if err != nil {
			t.Fatal(err)
		}
		if err = c.start(ctx); err == nil {
			t.Cleanup(func() {
				if t.Failed() {
					c.logs(t)
				}
				c.stop(t)
			})
			return c
		}
		c.logs(t)
		c.stop(t)
		if attempt == attempts { // a port that was free may be taken by now
			t.Skipf("Slurm does not start on this machine: %v", err)
		}
	}
}

// newCluster makes the folder of a cluster.
func newCluster(t *testing.T) (*cluster, error) {
	dir, err := os.MkdirTemp("", folders)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir}
	c.env = append(os.Environ(), "SLURM_CONF="+c.path("slurm.conf"))
	// munged refuses a key that others can read and a socket that they cannot reach.
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(c.path("munge"), 0o755), os.Mkdir(c.path("key"), 0o700),
		os.Mkdir(c.path("state"), 0o755))
	if err != nil {
		return nil, err
	}
	// It gets its name when it is locked: then no other test takes it for a leftover.
	if c.lock, err = locked(c.path("locked")); err != nil {
		return nil, err
	}
	if err := os.Rename(c.path("locked"), c.path("lock")); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	host, _, _ = strings.Cut(host, ".")
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := configuration.Execute(&text, map[string]any{"Dir": dir, "Host": host, "Ports": ports}); err != nil {
		return nil, err
	}
	key := []byte(strings.Repeat(fmt.Sprintf("%s %v %d ", dir, ports, time.Now().UnixNano()), 20))
	return c,
		errors.Join(os.WriteFile(c.path("slurm.conf"), []byte(text.String()), 0o644),
			os.WriteFile(c.path("key/key"), key, 0o600))
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// locked opens a file and locks it until it is closed, or until this process ends.
func locked(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is locked: %w", name, err), f.Close())
	}
	return f, nil
}

// freePorts returns TCP ports that are free on the loopback interface.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// start starts the daemons and waits until both nodes are idle.
func (c *cluster) start(ctx context.Context) error {
	conf := c.path("slurm.conf")
	for _, args := range [][]string{
		{"munged", "--key-file=" + c.path("key/key"), "--socket=" + c.path("munge/socket"),
			"--pid-file=" + c.path("munged.pid"), "--log-file=" + c.path("munged.log"),
			"--seed-file=" + c.path("key/seed"), "--num-threads=2"},
		{"slurmctld", "-i", "-f", conf},
		{"slurmd", "-f", conf, "-N", "n1"},
		{"slurmd", "-f", conf, "-N", "n2"},
	} {
		if err := c.daemon(ctx, args...); err != nil {
			return err
		}
	}
	return wait(ctx, 15*time.Second, "both nodes are idle", func() (bool, error) {
		states, err := c.slurm(ctx, "sinfo", "--noheader", "--Node", "--format=%T")
		return err == nil && states == "idle\nidle\n", nil
	})
}

// daemon starts a program that goes to the background.
func (c *cluster) daemon(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// The output is a file: a pipe would be open for as long as the daemon runs.
	output, err := os.OpenFile(c.path("start.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.env, c.dir, output, output
	if i := slices.Index(args, "-N"); i > 0 {
		cmd.Env = append(slices.Clone(cmd.Env), nodeName+"="+args[i+1])
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

// slurm runs one of Slurm's commands and returns its output.
func (c *cluster) slurm(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = c.env, c.dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out), err
}

// wait calls a condition until it holds, for at most a limit.
func wait(ctx context.Context, limit time.Duration, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %v, but not: %s", limit, what)
		case <-tick.C:
		}
	}
}

// logs writes the ends of the daemons' logs to the test's log.
func (c *cluster) logs(t *testing.T) {
	files, _ := filepath.Glob(c.path("*.log"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		t.Logf("%s:\n%s", filepath.Base(file), text[max(0, len(text)-3000):])
	}
}

// stop ends the daemons and all processes of jobs, and removes the folder.
func (c *cluster) stop(t *testing.T) {
	t.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, pid := range c.processes() {
			_ = syscall.Kill(pid, signal) // it may have ended
		}
		err := wait(context.Background(), 3*time.Second, "all processes ended",
			func() (bool, error) { return len(c.processes()) == 0, nil })
		if err != nil && signal == syscall.SIGKILL {
			t.Error(err)
		}
	}
	if err := errors.Join(c.lock.Close(), os.RemoveAll(c.dir)); err != nil {
		t.Error(err)
	}
}

// processes returns the daemons, and the processes of jobs: scripts, workers, and the
// daemons that watch them. All have the cluster's configuration in their environment.
func (c *cluster) processes() []int {
	var pids []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(entry, "environ"))
		if err != nil || !strings.Contains("\x00"+string(text), "\x00SLURM_CONF="+c.path("slurm.conf")+"\x00") {
			continue // another process, or it has ended
		}
		if pid, err := strconv.Atoi(filepath.Base(entry)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stopLeftovers stops the clusters of test processes that were killed.
func stopLeftovers(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), folders+"*", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		lock, err := locked(file)
		if err != nil {
			continue // its test runs
		}
		c := &cluster{dir: filepath.Dir(file), lock: lock}
		t.Logf("stopping the cluster in %s, which a killed test left", c.dir)
		c.stop(t)
	}
}
