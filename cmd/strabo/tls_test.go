package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority signs certificates and writes them, with their keys, to a directory.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.certificate, a.key = a.issue(t, name, x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) issue(t *testing.T, name string, template x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a.serial++
	template.SerialNumber, template.Subject = big.NewInt(a.serial), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = &template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	a.write(t, name+".pem", "CERTIFICATE", der)
	a.write(t, name+".key", "PRIVATE KEY", secret)
	return certificate, key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func TestTLS(t *testing.T) {
	ours, theirs := newAuthority(t, "ca"), newAuthority(t, "ca")
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, a := range []*authority{ours, theirs} {
		a.issue(t, "server", x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: usage})
		a.issue(t, "client", x509.Certificate{ExtKeyUsage: usage})
	}
	data := filepath.Join(t.TempDir(), "data")
	serve := []string{
		"purchase", "--store", data, "--accounts", "--listen", "127.0.0.1:0",
		"--tls-cert", ours.file("server.pem"), "--tls-key", ours.file("server.key"),
	}
	list := func(code int, url string, flags ...string) string {
		return strabo(t, code, append([]string{
			"enactments", "ls", "purchase", "--nats", url, "--creds", filepath.Join(data, "accounts", "engine.nk"), "--keys", filepath.Join(data, "keys"),
		}, flags...)...)
	}
	s := startServing(t, serve...)
	list(exitFine, s.NATS, "--tls-ca", ours.file("ca.pem"))
	list(exitWrongUse, s.NATS)
	list(exitWrongUse, s.NATS, "--tls-ca", theirs.file("ca.pem"))
	list(exitWrongUse, s.NATS, "--tls-ca", ours.file("ca.pem"), "--tls-cert", ours.file("client.pem"))
	list(exitWrongUse, s.NATS, "--tls-ca", ours.file("client.key"))
	s.stop(t)

	// A server that knows an authority wants certificates from clients.
	s = startServing(t, append(serve, "--tls-ca", ours.file("ca.pem"))...)
	mine := func(a *authority) []string {
		return []string{"--tls-ca", ours.file("ca.pem"), "--tls-cert", a.file("client.pem"), "--tls-key", a.file("client.key")}
	}
	list(exitFine, s.NATS, mine(ours)...)
	list(exitWrongUse, s.NATS, mine(theirs)...)
	list(exitWrongUse, s.NATS, "--tls-ca", ours.file("ca.pem"))
	s.stop(t)
}

func TestWhatStaysHere(t *testing.T) {
	for address, here := range map[string]bool{
		"127.0.0.1:4222": true, "[::1]:4222": true, "localhost:0": true, "127.9.9.9:1": true,
		":4222": false, "0.0.0.0:4222": false, "[::]:4222": false, "10.0.0.1:4222": false, "nats.example:4222": false, "nowhere": false,
	} {
		require.Equal(t, here, staysHere(address), address)
	}
}
