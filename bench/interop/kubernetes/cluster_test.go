package kubernetes

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// cluster is a control plane on loopback addresses: etcd, the API server and the controller
// manager with the controllers that the tests need.
type cluster struct {
	client     *kubernetes.Clientset
	kubeconfig string // path, for kubectl
	kubectl    string // path of the program
	processes  []*exec.Cmd
}

// controllers are the controllers that run.
const controllers = "job-controller,serviceaccount-controller,pod-garbage-collector-controller," +
	"persistentvolume-binder-controller"

// startCluster starts a cluster with its files in dir. Its processes end with stop, or with
// this process, however it ends.
func startCluster(ctx context.Context, dir string) (c *cluster, err error) {
	c = &cluster{kubeconfig: filepath.Join(dir, "kubeconfig")}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if c.kubectl, err = program(ctx, "kubectl"); err != nil {
		return c, err
	}
	server, err := program(ctx, "kube-apiserver")
	if err != nil {
		return c, err
	}
	manager, err := program(ctx, "kube-controller-manager")
	if err != nil {
		return c, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return c, err
	}
	etcd, peer, address := "http://"+ports[0], "http://"+ports[1], ports[2]
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return c, err
	}
	token := make([]byte, 16)
	_, _ = rand.Read(token)
	tokens, key := filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "service-accounts.key")
	if err := os.WriteFile(tokens, []byte(hex.EncodeToString(token)+",admin,admin,system:masters\n"),
		0o600); err != nil {
		return c, err
	}
	if err := writeKey(key); err != nil {
		return c, err
	}
	if err := c.start(filepath.Join(dir, "etcd.log"), "etcd", "--name=default",
		"--data-dir="+filepath.Join(dir, "etcd"), "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--unsafe-no-fsync"); err != nil {
		return c, err
	}
	if err := c.start(filepath.Join(dir, "kube-apiserver.log"), server, "--etcd-servers="+etcd,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+dir, "--token-auth-file="+tokens,
		"--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.0.0.0/24"); err != nil {
		return c, err
	}
	config := api.NewConfig()
	// the server makes it
	config.Clusters["test"] = &api.Cluster{Server: "https://" + address,
		CertificateAuthority: filepath.Join(dir, "apiserver.crt")}
	config.AuthInfos["test"] = &api.AuthInfo{Token: hex.EncodeToString(token)}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "test", Namespace: namespace}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, c.kubeconfig); err != nil {
		return c, err
	}
	var reason error
	if err := until(ctx, 3*time.Minute, func() (bool, error) {
		reason = c.connect(ctx) // again from the start: the certificate may be half-written
		return reason == nil, nil
	}); err != nil {
		return c,
			fmt.Errorf("the API server is not ready: %w\n%s%s", reason, tail(dir, "etcd.log"),
				tail(dir, "kube-apiserver.log"))
	}
	return c, c.start(filepath.Join(dir, "kube-controller-manager.log"), manager, "--kubeconfig="+c.kubeconfig,
		"--controllers="+controllers, "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+key)
}

// connect makes the client. It fails while the API server is not ready.
func (c *cluster) connect(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	_, err = c.client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// launch starts commands on one operating-system thread that never ends: the kernel kills a
// child with Pdeathsig when the thread that started it ends.
var launch = func() chan func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
}()

// started starts a command that dies with this process.
func started(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	result := make(chan error)
	launch <- func() { result <- cmd.Start() }
	return <-result
}

func (c *cluster) start(log string, name string, args ...string) error {
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := started(cmd); err != nil {
		return err
	}
	c.processes = append(c.processes, cmd)
	return nil
}

// stop ends the processes, the last one first.
func (c *cluster) stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		_ = c.processes[i].Process.Kill()
		_ = c.processes[i].Wait()
	}
	c.processes = nil
}

// program builds a tool of go.mod and returns its path. Go caches it.
func program(ctx context.Context, name string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "-n", name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot build %s: %w\n%s", name, err, errors.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// freePorts returns n addresses on 127.0.0.1 where nothing listens.
func freePorts(n int) ([]string, error) {
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // after all have their ports
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// writeKey writes a key for the tokens of service accounts.
func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	return os.WriteFile(path,
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600)
}

// until waits for a condition. An error of it ends the wait.
func until(ctx context.Context, limit time.Duration, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if ok, err := condition(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tail returns the end of a log.
func tail(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err.Error() + "\n"
	}
	lines := strings.SplitAfter(string(data), "\n")
	return name + ":\n" + strings.Join(lines[max(0, len(lines)-20):], "")
}
