package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/kubernetes/pkg/fieldpath"
)

// node is the name of the only node.
const node = "test-node"

// kubelet stands in for the scheduler and a node's kubelet: it binds every pod to the node,
// runs its container, sends SIGTERM when the pod is deleted and SIGKILL after its grace
// period, and reports the pod's phase and the container's exit code.
type kubelet struct {
	client  kubernetes.Interface
	image   *image // of every container; its name is checked
	logs    string // folder for the containers' output
	report  func(error)
	mu      sync.Mutex
	running map[types.UID]*running
	ended   map[types.UID]int // exit codes
	wait    sync.WaitGroup
}

// running is a container that was started.
type running struct {
	process *os.Process
	stop    sync.Once // after the first sign that the pod is deleted
}

// startKubelet registers the node and handles pods until ctx ends. report gets errors.
func startKubelet(ctx context.Context, client kubernetes.Interface, image *image, logs string,
	report func(error)) (*kubelet, error) {
	k := &kubelet{client: client, image: image, logs: logs, report: report, running: map[types.UID]*running{},
		ended: map[types.UID]int{}}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if _, err := client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			pod := object.(*corev1.Pod)
			k.wait.Go(func() {
				if err := k.run(ctx, pod); err != nil && ctx.Err() == nil {
					report(fmt.Errorf("pod %s: %w", pod.Name, err))
				}
			})
		},
		UpdateFunc: func(_, object any) {
			if pod := object.(*corev1.Pod); pod.DeletionTimestamp != nil {
				k.terminate(pod)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return k, nil
}

// kill ends all containers at once, as a power failure does.
func (k *kubelet) kill() {
	k.mu.Lock()
	for _, r := range k.running {
		_ = r.process.Kill()
	}
	k.mu.Unlock()
	k.wait.Wait()
}

// signal sends a signal to the container of a pod.
func (k *kubelet) signal(pod *corev1.Pod, s os.Signal) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.running[pod.UID]
	if r == nil {
		return fmt.Errorf("pod %s has no process", pod.Name)
	}
	return r.process.Signal(s)
}

// exitCode returns the exit code of a pod's container, if it has ended.
func (k *kubelet) exitCode(pod *corev1.Pod) (code int, ended bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	code, ended = k.ended[pod.UID]
	return code, ended
}

// terminate stops the container of a deleted pod, within the grace period.
func (k *kubelet) terminate(pod *corev1.Pod) {
	k.mu.Lock()
	r := k.running[pod.UID]
	k.mu.Unlock()
	if r == nil {
		return
	}
	r.stop.Do(func() {
		_ = r.process.Signal(syscall.SIGTERM)
		time.AfterFunc(time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second, func() { _ = r.process.Kill() })
	})
}

// run runs a pod from its creation to its end.
func (k *kubelet) run(ctx context.Context, pod *corev1.Pod) error {
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
		Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	c, err := k.container(ctx, pod)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(k.logs, pod.Name+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd, err := c.command()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out
	begun := metav1.Now()
	if err := started(cmd); err != nil {
		return err
	}
	k.mu.Lock()
	k.running[pod.UID] = &running{process: cmd.Process}
	k.mu.Unlock()
	if err := k.update(ctx, pod, corev1.PodRunning,
		corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: begun}}); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	err = cmd.Wait()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if code = exit.ExitCode(); code < 0 {
			code = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	} else if err != nil {
		return err
	}
	k.mu.Lock()
	delete(k.running, pod.UID)
	k.ended[pod.UID] = code
	k.mu.Unlock()
	phase, reason := corev1.PodSucceeded, "Completed"
	if code != 0 {
		phase, reason = corev1.PodFailed, "Error"
	}
	ended := corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: reason, StartedAt: begun,
		FinishedAt: metav1.Now()}
	if err := k.update(ctx, pod, phase, corev1.ContainerState{Terminated: &ended}); err != nil {
		return err
	}
	now, err := k.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil || now.DeletionTimestamp == nil {
		return err
	}
	return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
}

// update reports the state of a pod's container.
func (k *kubelet) update(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase,
	state corev1.ContainerState) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := &now.Spec.Containers[0]
		now.Status.Phase = phase
		now.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: c.Name, Image: c.Image, State: state, Ready: state.Running != nil},
		}
		_, err = pods.UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err
	})
}

// container returns the container of a pod. It refuses pods with parts that it would ignore.
func (k *kubelet) container(ctx context.Context, pod *corev1.Pod) (*container, error) {
	spec := &pod.Spec
	if len(spec.Containers) != 1 || len(spec.InitContainers) > 0 {
		return nil, errors.New("the pod has several containers")
	}
	of := &spec.Containers[0]
	security, own := spec.SecurityContext, of.SecurityContext
	switch {
	case of.Image != k.image.name:
		return nil, fmt.Errorf("there is no image %s", of.Image)
	case len(of.Command) > 0 || len(of.EnvFrom) > 0 || of.WorkingDir != "":
		return nil, errors.New("the container has a command, envFrom or a working directory")
	}
	c := &container{Root: k.image.root, Hostname: spec.Hostname, Args: append([]string{}, k.image.entrypoint...)}
	c.Args = append(c.Args, of.Args...)
	if c.Hostname == "" {
		c.Hostname = pod.Name
	}
	c.UID, c.GID = k.image.uid, k.image.gid
	if security.RunAsUser != nil {
		c.UID = int(*security.RunAsUser)
	}
	if security.RunAsGroup != nil {
		c.GID = int(*security.RunAsGroup)
	}
	if security.FSGroup != nil {
		c.Groups = append(c.Groups, int(*security.FSGroup))
	}
	if c.UID == 0 {
		return nil, errors.New("the container runs as root")
	}
	c.ReadOnly = own.ReadOnlyRootFilesystem != nil && *own.ReadOnlyRootFilesystem
	c.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=" + c.Hostname}
	for _, v := range of.Env {
		value := v.Value
		if from := v.ValueFrom; from != nil {
			if from.FieldRef == nil {
				return nil, fmt.Errorf("variable %s is not a field of the pod", v.Name)
			}
			var err error
			if value, err = fieldpath.ExtractFieldPathAsString(pod, from.FieldRef.FieldPath); err != nil {
				return nil, err
			}
		}
		c.Env = append(c.Env, v.Name+"="+value)
	}
	folders := map[string]string{}
	for _, v := range spec.Volumes {
		claim := v.PersistentVolumeClaim
		if claim == nil {
			return nil, fmt.Errorf("volume %s is not a claim", v.Name)
		}
		folder, err := k.claimed(ctx, pod.Namespace, claim.ClaimName)
		if err != nil {
			return nil, err
		}
		if security.FSGroup != nil {
			if err := giveToGroup(folder, int(*security.FSGroup)); err != nil {
				return nil, err
			}
		}
		folders[v.Name] = folder
	}
	for _, m := range of.VolumeMounts {
		if m.SubPathExpr != "" {
			return nil, fmt.Errorf("mount %s has an expression", m.MountPath)
		}
		c.Mounts = append(c.Mounts,
			mount{From: filepath.Join(folders[m.Name], filepath.FromSlash(m.SubPath)), To: m.MountPath,
				ReadOnly: m.ReadOnly})
	}
	return c, nil
}

// claimed returns the folder of the host behind a claim, once the controller has bound it.
func (k *kubelet) claimed(ctx context.Context, namespace, name string) (folder string, err error) {
	err = until(ctx, time.Minute, func() (bool, error) {
		claim, err := k.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound {
			return false, err
		}
		volume, err := k.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		folder = volume.Spec.HostPath.Path
		return true, nil
	})
	return folder, err
}

// giveToGroup lets a group write to a volume, as kubelets do on volumes that support fsGroup.
func giveToGroup(folder string, group int) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another pod is at work
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		mode := info.Mode() | 0o660
		if d.IsDir() {
			mode |= 0o110 | fs.ModeSetgid
		}
		if err := errors.Join(os.Lchown(path, -1, group), os.Chmod(path, mode)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// output returns the output of the containers, by pod.
func (k *kubelet) output() string {
	var all string
	files, _ := filepath.Glob(filepath.Join(k.logs, "*.log"))
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(f, 2000))
		_ = f.Close()
		all += filepath.Base(file) + ": " + strconv.Quote(string(text)) + "\n"
	}
	return all
}
