// Program teashop is a shop of one's own, to be copied: its catalogue, shipping and discounts are in shop.go, and it is
// bought from by UCP, in every release. It keeps everything in memory; docs/shop.md tells what has to change for more.
//
//	go run ./docs/examples/teashop
//	strabo buy --business http://127.0.0.1:8190 --item sencha --currency EUR --country GR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8190", "where the shop is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("open: http://%s\n", listener.Addr())
	if err := serve(ctx, listener); err != nil {
		log.Fatal(err)
	}
}

// serve is the shop on a listener until ctx ends.
func serve(ctx context.Context, listener net.Listener) error {
	// Requests under way are answered before the shop stops, so it lives longer than ctx.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	shop, err := open(running, "http://"+listener.Addr().String())
	if err != nil {
		return err
	}
	defer shop.close()
	server := &http.Server{Handler: shop.web, ReadHeaderTimeout: 5 * time.Second}
	served, sold := make(chan error, 1), make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	go func() { sold <- shop.run(running) }()
	select {
	case <-ctx.Done():
	case err = <-sold:
		sold <- nil
	case err = <-served:
		served <- nil
	}
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(closing))
	stop()
	err = errors.Join(err, <-sold)
	if last := <-served; !errors.Is(last, http.ErrServerClosed) {
		err = errors.Join(err, last)
	}
	return err
}
