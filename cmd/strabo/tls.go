package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/nats-io/nats.go"
)

// tlsFlags say what a connection to NATS is secured with, on this side of it.
type tlsFlags struct {
	TLSCert string `name:"tls-cert" type:"path" placeholder:"FILE" help:"Certificate of this side (PEM): the server's where one listens, else the client's."`
	TLSKey  string `name:"tls-key" type:"path" placeholder:"FILE" help:"Key of --tls-cert (PEM)."`
	TLSCA   string `name:"tls-ca" type:"path" placeholder:"FILE" help:"Who must have signed the certificate of the other side (PEM). Where a server listens, clients need one then."`
}

func (f tlsFlags) given() bool { return f.TLSCert != "" || f.TLSKey != "" || f.TLSCA != "" }

// load reads the files: a certificate, if there is one, and the authorities of the other side, nil for those of the
// system.
func (f tlsFlags) load() (*tls.Config, *x509.CertPool, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return nil, nil, errors.New("--tls-cert and --tls-key belong together")
	}
	if f.TLSCert != "" {
		certificate, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return nil, nil, fmt.Errorf("--tls-cert: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	if f.TLSCA == "" {
		return config, nil, nil
	}
	text, err := os.ReadFile(f.TLSCA)
	if err != nil {
		return nil, nil, fmt.Errorf("--tls-ca: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, nil, fmt.Errorf("--tls-ca: %s has no certificate", f.TLSCA)
	}
	return config, authorities, nil
}

// client secures connections to a NATS, if any of the flags is given.
func (f tlsFlags) client() ([]nats.Option, error) {
	if !f.given() {
		return nil, nil
	}
	config, authorities, err := f.load()
	if err != nil {
		return nil, err
	}
	config.RootCAs = authorities
	return []nats.Option{nats.Secure(config)}, nil
}

// server secures what listens, if any of the flags is given; nil if not.
func (f tlsFlags) server() (*tls.Config, error) {
	if !f.given() {
		return nil, nil
	}
	config, authorities, err := f.load()
	if err != nil {
		return nil, err
	}
	if config.Certificates == nil {
		return nil, errors.New("--tls-cert and --tls-key are needed to listen with TLS")
	}
	if authorities != nil {
		config.ClientCAs, config.ClientAuth = authorities, tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// staysHere tells whether an address to listen on is reached from this machine alone.
func staysHere(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
