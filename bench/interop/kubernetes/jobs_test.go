package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// patience is how long a job may take.
const patience = 5 * time.Minute

// fedsim runs the program on this machine, as its user does, and returns its output.
func fedsim(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(built.program(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("fedsim %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// volume makes a claim and its volume, and returns the folder of the volume on the host.
func volume(t *testing.T, claim *corev1.PersistentVolumeClaim) string {
	t.Helper()
	ctx, folder := t.Context(), t.TempDir()
	for dir := folder; dir != os.TempDir(); dir = filepath.Dir(dir) { // the containers' user must pass
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}, Spec: corev1.PersistentVolumeSpec{
		Capacity:               claim.Spec.Resources.Requests,
		AccessModes:            claim.Spec.AccessModes,
		ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: claim.Name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
	}}
	if claim.Spec.StorageClassName != nil {
		v.Spec.StorageClassName = *claim.Spec.StorageClassName
	}
	if _, err := control.client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := control.client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, claim,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return folder
}

// newClaim returns a claim that many nodes can write to.
func newClaim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName: new(string),
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		}}
}

// submit submits a plan and returns its newest job.
func submit(t *testing.T, dir string, tasks int, options ...string) *batchv1.Job {
	t.Helper()
	before := jobs(t)
	fedsim(t,
		append([]string{"plan", "submit", dir, "--engine", "kubernetes", "--tasks", fmt.Sprint(tasks), "--",
			"--image=" + built.name}, options...)...)
	after := jobs(t)
	maps.DeleteFunc(after, func(name string, _ *batchv1.Job) bool { return before[name] != nil })
	if len(after) != 1 {
		t.Fatalf("fedsim plan submit made %d jobs", len(after))
	}
	for _, job := range after {
		return job
	}
	return nil
}

// jobs returns all jobs by name.
func jobs(t *testing.T) map[string]*batchv1.Job {
	t.Helper()
	list, err := control.client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*batchv1.Job{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all
}

// pods returns the pods of a job.
func pods(t *testing.T, job *batchv1.Job) []corev1.Pod {
	t.Helper()
	list, err := control.client.CoreV1().Pods(namespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// refused returns an error if the API server has refused a pod of a job.
func refused(t *testing.T, job *batchv1.Job) error {
	t.Helper()
	list, err := control.client.CoreV1().Events(namespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "reason=FailedCreate,involvedObject.name=" + job.Name})
	if err == nil && len(list.Items) > 0 {
		err = errors.New(list.Items[0].Message)
	}
	return err
}

// end waits until a job has ended, and returns it and the type of the condition that it ended
// with.
func end(t *testing.T, job *batchv1.Job) (*batchv1.Job, batchv1.JobConditionType) {
	t.Helper()
	ended := batchv1.JobConditionType("")
	err := until(t.Context(), patience, func() (bool, error) {
		now, err := control.client.BatchV1().Jobs(namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		job = now
		for _, c := range job.Status.Conditions {
			if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
				ended = c.Type
			}
		}
		return ended != "", errors.Join(refused(t, job), faults.take())
	})
	if err != nil {
		t.Fatalf("%v: %+v\n%s", err, job.Status, nodes.output())
	}
	return job, ended
}

// completes requires that a job completes with all its indexes.
func completes(t *testing.T, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	job, how := end(t, job)
	if how != batchv1.JobComplete || job.Status.Succeeded != *job.Spec.Completions {
		t.Fatalf("%s: %+v\n%s", how, job.Status, nodes.output())
	}
	return job
}

// worker waits until the pod of an index has claimed work, and returns the pod.
func worker(t *testing.T, dir string, job *batchv1.Job, index int) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	err := until(t.Context(), patience, func() (bool, error) {
		for _, pod := range pods(t, job) {
			if pod.Status.Phase == corev1.PodRunning &&
				pod.Annotations[batchv1.JobCompletionIndexAnnotation] == fmt.Sprint(index) {
				found = &pod
			}
		}
		if found == nil {
			return false, errors.Join(refused(t, job), faults.take())
		}
		claims, err := filepath.Glob(filepath.Join(dir, "claims", "*.json"))
		for _, path := range claims {
			var claim struct {
				Host  string
				Ended bool
			}
			if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &claim) == nil && !claim.Ended &&
				claim.Host == found.Spec.Hostname {
				return true, nil
			}
		}
		return false, errors.Join(err, faults.take())
	})
	if err != nil {
		t.Fatalf("index %d: %v\n%s", index, err, nodes.output())
	}
	return found
}

// exitCodes returns the exit codes of the containers of a job by index, sorted.
func exitCodes(t *testing.T, job *batchv1.Job) map[string][]int32 {
	t.Helper()
	codes := map[string][]int32{}
	for _, pod := range pods(t, job) {
		index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		codes[index] = append(codes[index], pod.Status.ContainerStatuses[0].State.Terminated.ExitCode)
		slices.Sort(codes[index])
	}
	return codes
}

// mergesLike requires that the run directory that a plan merges to is that of a run.
func mergesLike(t *testing.T, dir string, scenario ...string) {
	t.Helper()
	merged, run := filepath.Join(t.TempDir(), "merged"), filepath.Join(t.TempDir(), "run")
	fedsim(t, "plan", "merge", dir, "--out", merged)
	fedsim(t, append([]string{"run", "--out", run}, scenario...)...)
	sameRuns(t, merged, run)
}

// evict evicts a pod, as draining a node does.
func evict(t *testing.T, pod *corev1.Pod, grace int64) error {
	t.Helper()
	return control.client.CoreV1().Pods(namespace).EvictV1(t.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, DeleteOptions: metav1.NewDeleteOptions(grace)})
}

// A planned, submitted and merged scenario has the bytes of one that ran here. The pods keep
// the strictest pod security standard, which the namespace enforces.
func TestJobsHaveTheBytesOfARun(t *testing.T) {
	claim := newClaim("deadline")
	dir := filepath.Join(volume(t, claim), "plans", "deadline")
	fedsim(t, "plan", "make", "deadline", "-o", dir)
	job := completes(t, submit(t, dir, 3, "--claim="+claim.Name, "--path=plans/deadline"))
	if n := len(pods(t, job)); n != 3 || job.Status.Failed != 0 {
		t.Errorf("%d pods, %d of them failed", n, job.Status.Failed)
	}
	mergesLike(t, dir, "deadline")
}

// A pod that is evicted, one that is killed in its eviction and one whose container gets
// SIGTERM are replaced, and none counts as a failure of its index.
func TestInterruptedPodsAreReplaced(t *testing.T) {
	claim := newClaim("interrupted")
	dir := volume(t, claim)
	scenario := []string{"lte-high-var", "--set", "run.seeds=[1, 2, 3]", "--set", "data.synthetic.clients=6"}
	fedsim(t, append([]string{"plan", "make", "-o", dir}, scenario...)...)
	job := submit(t, dir, 3, "--claim="+claim.Name)
	evicted, interrupted, killed := worker(t, dir, job, 0), worker(t, dir, job, 1), worker(t, dir, job, 2)
	err := errors.Join(nodes.signal(interrupted, syscall.SIGTERM), nodes.signal(killed, syscall.SIGSTOP),
		evict(t, evicted, 60), evict(t, killed, 1))
	if err != nil {
		t.Fatal(err)
	}
	job = completes(t, job)
	codes := exitCodes(t, job)
	for _, pod := range pods(t, job) {
		index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		if pod.Status.Phase != corev1.PodSucceeded {
			continue
		}
		if counted, ignored := pod.Annotations[batchv1.JobIndexFailureCountAnnotation],
			pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]; counted != "0" || ignored != "1" {
			t.Errorf("index %s: %s failures counted, %s ignored", index, counted, ignored)
		}
	}
	// an evicted pod is deleted
	if want := (map[string][]int32{"0": {0}, "1": {0, 75}, "2": {0}}); !maps.EqualFunc(codes, want, slices.Equal) {
		t.Errorf("exit codes %v, not %v", codes, want)
	}
	for pod, want := range map[*corev1.Pod]int{evicted: 75, interrupted: 75, killed: 128 + int(syscall.SIGKILL)} {
		if code, ok := nodes.exitCode(pod); code != want || !ok {
			t.Errorf("pod %s: exit code %d (%v), not %d", pod.Name, code, ok, want)
		}
	}
	mergesLike(t, dir, scenario...)
}

// A worker that cannot do a group does all others and fails. That counts as a failure of its index,
// which is tried three times. The next submission has the missing group alone.
func TestFailedIndexIsSubmittedAgain(t *testing.T) {
	claim := newClaim("failed")
	dir := volume(t, claim)
	fedsim(t, "plan", "make", "deadline", "-o", dir)
	data, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var plan struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(data, &plan); err != nil {
		t.Fatal(err)
	}
	// of a group: a link to nothing where a folder must be
	obstacle := filepath.Join(dir, "attempts", plan.Items[len(plan.Items)-1].ID)
	if err := errors.Join(os.MkdirAll(filepath.Dir(obstacle), 0o777), os.Symlink("/absent", obstacle)); err != nil {
		t.Fatal(err)
	}
	job, how := end(t, submit(t, dir, 3, "--claim="+claim.Name))
	if how != batchv1.JobFailed || job.Status.Succeeded != 0 {
		t.Fatalf("%s: %+v\n%s", how, job.Status, nodes.output())
	}
	want := map[string][]int32{"0": {1, 1, 1}, "1": {1, 1, 1}, "2": {1, 1, 1}}
	if codes := exitCodes(t, job); !maps.EqualFunc(codes, want, slices.Equal) {
		t.Errorf("exit codes %v, not %v", codes, want)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	if job = completes(t, submit(t, dir, 3, "--claim="+claim.Name)); *job.Spec.Completions != 1 {
		t.Errorf("%d tasks were submitted again", *job.Spec.Completions)
	}
	mergesLike(t, dir, "deadline")
}

// The claim of docs/clusters.md serves a plan and its data from two folders of a volume.
func TestDocumentedClaim(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(tree, "docs", "clusters.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	claim := new(corev1.PersistentVolumeClaim)
	if err := yaml.UnmarshalStrict([]byte(text), claim); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	folder := volume(t, claim)
	data := filepath.Join(folder, "data", "two.csv")
	rows := "client,label,x\n" + strings.Repeat("a,1,2\na,-1,-1\nb,1,0.5\nb,-1,-3\n", 10)
	if err := errors.Join(os.Mkdir(filepath.Dir(data), 0o755), os.WriteFile(data, []byte(rows), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FEDSIM_DATA", filepath.Dir(data))
	dir := filepath.Join(folder, "lte")
	scenario := []string{"deadline", "--set", "data.source=csv", "--set", "data.path=two.csv", "--set",
		"run.rounds=50"}
	fedsim(t, append([]string{"plan", "make", "-o", dir}, scenario...)...)
	completes(t, submit(t, dir, 2, "--claim="+claim.Name, "--path=lte", "--data=data", "--namespace="+namespace))
	mergesLike(t, dir, scenario...)
}

// A manifest may be changed before it is submitted. A wrong option in it fails an index at once.
func TestUsageErrorIsNotRepeated(t *testing.T) {
	claim := newClaim("usage")
	dir := volume(t, claim)
	fedsim(t, "plan", "make", "deadline", "-o", dir)
	manifest := fedsim(t, "plan", "submit", dir, "--engine", "kubernetes", "--tasks", "2", "--print", "--",
		"--image="+built.name, "--claim="+claim.Name)
	changed := strings.Replace(manifest, `"--workers", "1"`, `"--wrokers", "1"`, 1)
	create := exec.Command("kubectl", "create", "-f", "-")
	create.Stdin = strings.NewReader(changed)
	before := jobs(t)
	if out, err := create.CombinedOutput(); err != nil || changed == manifest {
		t.Fatalf("%v: %s%s", err, out, changed)
	}
	for name, job := range jobs(t) {
		if before[name] != nil {
			continue
		}
		job, how := end(t, job)
		if codes, want := exitCodes(t, job), (map[string][]int32{"0": {2}, "1": {2}}); how != batchv1.JobFailed ||
			!maps.EqualFunc(codes, want, slices.Equal) {
			t.Errorf("%s: exit codes %v, not %v\n%s", how, codes, want, nodes.output())
		}
	}
}
