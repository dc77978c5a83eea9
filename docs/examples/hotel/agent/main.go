// Program agent runs an agent of the hotel example on a server:
//
//	strabo serve docs/examples/hotel/hotel.lsh --store ./data --accounts --listen 127.0.0.1:4222
//	go run ./docs/examples/hotel/agent -role Hotel -creds ./data/accounts/hotel.Hotel.nk
//	go run ./docs/examples/hotel/agent -role Guest -creds ./data/accounts/hotel.Guest.nk -booking b1 -nights 2
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/docs/examples/hotel"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

func main() {
	role := flag.String("role", "Hotel", "Hotel or Guest")
	url := flag.String("nats", "nats://127.0.0.1:4222", "where strabo serve listens")
	creds := flag.String("creds", "", "the identity's .nk file; none if the server has no accounts")
	booking := flag.String("booking", "b1", "what the guest calls the booking")
	nights := flag.Int("nights", 2, "how many nights the guest stays")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch *role {
	case "Hotel":
		err = host(ctx, *url, *creds)
	case "Guest":
		err = book(ctx, *url, *creds, *booking, *nights)
	default:
		err = fmt.Errorf("there is no role %s: Hotel or Guest", *role)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// host is the hotel until ctx ends.
func host(ctx context.Context, url, creds string) error {
	rules, executor, closeAll, err := connect(url, creds)
	if err != nil {
		return err
	}
	defer closeAll()
	agent, err := hotel.NewHotel(rules, executor)
	if err != nil {
		return err
	}
	return agent.Run(ctx)
}

// book is a guest who asks for one booking, and leaves when it has ended.
func book(ctx context.Context, url, creds, booking string, nights int) error {
	rules, executor, closeAll, err := connect(url, creds)
	if err != nil {
		return err
	}
	defer closeAll()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	agent, err := hotel.NewGuest(rules, executor, 250, func(key enactment.Key, ending string) {
		fmt.Println(ending, key)
		leave()
	})
	if err != nil {
		return err
	}
	asked := make(chan error, 1)
	go func() {
		err := hotel.Ask(ctx, agent, booking, "with a view", nights)
		if err != nil {
			leave()
		}
		asked <- err
	}()
	if err := agent.Run(ctx); err != nil {
		return err
	}
	return <-asked
}

// connect makes an executor on a server; closeAll ends it.
func connect(url, creds string) (rules *enactment.Rules, executor adapter.Executor, closeAll func(), err error) {
	if rules, err = hotel.Rules(); err != nil {
		return nil, nil, nil, err
	}
	options := []nats.Option{nats.MaxReconnects(-1)} // The agent waits for a server that is away.
	if creds != "" {
		option, err := nats.NkeyOptionFromSeed(creds)
		if err != nil {
			return nil, nil, nil, err
		}
		options = append(options, option)
	}
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return nil, nil, nil, err
	}
	client, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{})
	if err != nil {
		conn.Close()
		return nil, nil, nil, err
	}
	return rules, client, func() { client.Close(); conn.Close() }, nil
}
