// Package kubernetes tests fedsim's Kubernetes jobs with the real API server and the real
// controllers of Jobs and volumes, without a cluster: `make test-kubernetes`. The API server,
// the controller manager and kubectl are built from their sources, at the release in go.mod;
// etcd is Debian's. In place of nodes the tests have a kubelet of their own, which runs the
// containers of pods in namespaces of this machine: it needs Linux and root.
package kubernetes
