package kubernetes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namespace is where the tests run their jobs. Its pods must meet the strictest of the pod
// security standards.
const namespace = "simulations"

// What all tests share.
var (
	built   *image
	control *cluster
	nodes   *kubelet
	faults  errorList // of the kubelet
)

// errorList collects errors of several goroutines.
type errorList struct {
	mu   sync.Mutex
	list []error
}

func (l *errorList) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, err)
}

// take returns the errors since the last call.
func (l *errorList) take() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(l.list...)
	l.list = nil
	return err
}

func TestMain(m *testing.M) {
	if spec := os.Getenv(containerVariable); spec != "" {
		fmt.Fprintln(os.Stderr, enterContainer(spec))
		os.Exit(128) // as runc does
	}
	flag.Parse()
	code, err := withCluster(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withCluster builds the image, starts a cluster with a node and runs the tests.
func withCluster(run func() int) (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("the tests run containers: run them as root")
	}
	dir, err := os.MkdirTemp("", "fedsim-kubernetes-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // the containers' user must pass
		return 0, err
	}
	for _, name := range []string{"image", "made", "logs", "bin", "cluster"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return 0, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if built, err = buildImage(ctx, filepath.Join(dir, "image")); err != nil {
		return 0, err
	}
	if control, err = startCluster(ctx, filepath.Join(dir, "cluster")); err != nil {
		return 0, err
	}
	defer control.stop()
	// fedsim finds kubectl in the PATH, and kubectl its cluster in KUBECONFIG.
	if err := os.Symlink(control.kubectl, filepath.Join(dir, "bin", "kubectl")); err != nil {
		return 0, err
	}
	for name, value := range map[string]string{"PATH": filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"),
		"KUBECONFIG": control.kubeconfig} {
		if err := os.Setenv(name, value); err != nil {
			return 0, err
		}
	}
	strict := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace,
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}},
	}
	if _, err := control.client.CoreV1().Namespaces().Create(ctx, strict, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	// Pods are refused until their namespace has an account.
	if err := until(ctx, time.Minute, func() (bool, error) {
		_, err := control.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	}); err != nil {
		return 0,
			fmt.Errorf("the namespace has no account: %w\n%s", err,
				tail(filepath.Join(dir, "cluster"), "kube-controller-manager.log"))
	}
	if nodes, err = startKubelet(ctx, control.client, built, filepath.Join(dir, "logs"), faults.add); err != nil {
		return 0, err
	}
	defer func() { cancel(); nodes.kill() }()
	return run(), nil
}
