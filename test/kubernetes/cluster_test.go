package kubernetes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hookgate/hookgate/test/freeport"
	"github.com/hookgate/hookgate/test/process"
)

// issuer is the API server's issuer name in tokens, the same as in most
// clusters.
const issuer = "https://kubernetes.default.svc.cluster.local"

// cluster is a Kubernetes cluster on the loopback.
type cluster struct {
	*client
	url    string
	signer *ecdsa.PrivateKey // signs tokens of service accounts
	ca     string            // PEM
	// program is the path of the gateway's program.
	program string
}

// installed returns the path of a program that .ci/run kubernetes installed.
func installed(t *testing.T, name string) string {
	t.Helper()
	path := os.Getenv("HOOKGATE_TEST_" + name)
	if path == "" {
		t.Fatalf("HOOKGATE_TEST_%s is not set: run make e2e-kubernetes", name)
	}
	return path
}

// start starts etcd, the API server, the controllers, the scheduler and the
// nodes. All are stopped at the end of the test.
func start(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := &cluster{signer: newKey(t), program: process.Build(t)}
	ca, certificate, key := certificates(t)
	c.ca = string(ca)
	token := rand.Text()
	signer := file("signer.pem", keyPEM(t, c.signer))

	etcd, peer := "http://"+freeport.Address(t), "http://"+freeport.Address(t)
	run(t, dir, "etcd", installed(t, "ETCD"), "--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)
	eventually(t, "etcd is healthy", func(ctx context.Context) error { return healthy(ctx, etcd+"/health") })

	kube := installed(t, "KUBE")
	host, port, err := net.SplitHostPort(freeport.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	c.url = "https://" + net.JoinHostPort(host, port)
	// Debian's etcd does not send the progress notifications that streamed lists
	// require, so clients would wait a long time before falling back to ordinary
	// lists.
	run(t, dir, "kube-apiserver", kube, "kube-apiserver", "--etcd-servers="+etcd, "--cert-dir="+filepath.Join(dir, "apiserver"),
		"--bind-address="+host, "--advertise-address="+host, "--secure-port="+port, "--endpoint-reconciler-type=none", "--feature-gates=WatchList=false",
		"--tls-cert-file="+file("apiserver.crt", certificate), "--tls-private-key-file="+file("apiserver.key", key),
		"--token-auth-file="+file("tokens.csv", []byte(token+`,admin,admin,"system:masters"`+"\n")),
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer="+issuer, "--service-account-key-file="+signer, "--service-account-signing-key-file="+signer)
	config := &rest.Config{
		Host: c.url, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}, QPS: -1, // there are no other clients
	}
	c.client = newClient(t, config)
	eventually(t, "the API server is ready", func(ctx context.Context) error {
		return c.typed.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})

	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"here": {Server: c.url, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"here": {Cluster: "here", AuthInfo: "admin"}},
		CurrentContext: "here",
	}, kubeconfig); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "kube-controller-manager", kube, "kube-controller-manager", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+signer, "--root-ca-file="+file("ca.crt", ca), "--horizontal-pod-autoscaler-sync-period=1s",
		"--kube-api-qps=500", "--kube-api-burst=1000")
	run(t, dir, "kube-scheduler", kube, "kube-scheduler", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=1000")
	run(t, dir, "kwok", installed(t, "KWOK"), "--config="+installed(t, "KWOK_STAGES"), "--kubeconfig="+kubeconfig, "--manage-all-nodes=true",
		"--server-address="+freeport.Address(t), "--node-ip="+host)
	c.addNodes(t)
	return c
}

// addNodes adds nodes of two processor architectures in two zones.
func (c *cluster) addNodes(t *testing.T) {
	t.Helper()
	for i, architecture := range []string{"amd64", "amd64", "arm64", "arm64"} {
		name := fmt.Sprintf("node-%d", i)
		has := core.ResourceList{
			core.ResourceCPU: resource.MustParse("8"), core.ResourceMemory: resource.MustParse("32Gi"), core.ResourcePods: resource.MustParse("110"),
			core.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		}
		c.create(t, "", &core.Node{ObjectMeta: named(name, map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": architecture,
			"topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", i%2),
		}), Status: core.NodeStatus{Capacity: has, Allocatable: has}})
	}
	eventually(t, "every node is ready", func(ctx context.Context) error {
		nodes, err := c.typed.CoreV1().Nodes().List(ctx, all)
		if err != nil {
			return err
		}
		for _, n := range nodes.Items {
			if len(n.Spec.Taints) > 0 || n.Status.Allocatable.StorageEphemeral().IsZero() {
				return fmt.Errorf("%s has the taints %v and %v", n.Name, n.Spec.Taints, n.Status.Allocatable)
			}
		}
		return nil
	})
}

// healthy sends a request over plain HTTP.
func healthy(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	_ = resp.Body.Close() // nothing is read from it
	return err
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// certificates returns a CA certificate and the API server's certificate and
// key.
func certificates(t *testing.T) (ca, certificate, key []byte) {
	t.Helper()
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cluster"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{strings.TrimPrefix(issuer, "https://")},
	}
	authorityKey, serverKey := newKey(t), newKey(t)
	sign := func(what *x509.Certificate, of *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, what, authority, &of.PublicKey, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	return sign(authority, authorityKey), sign(server, serverKey), keyPEM(t, serverKey)
}
