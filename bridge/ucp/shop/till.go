package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// MockHandler is the payment handler whose tokens say what becomes of the payment, as the public samples have it.
const MockHandler = "mock_payment_handler"

// The tokens that [Till] knows.
const (
	TokenPays    = "success_token"
	TokenLacks   = "fail_token"
	TokenIsFraud = "fraud_token"
)

// Till are [Payments] that take no money: it stands where a real shop calls its payment provider, and answers by the
// token. What it was asked is kept in a store, so that a payment is decided once.
type Till struct {
	store    keyvalue.Store
	handlers []model.PaymentHandler
}

var _ Payments = (*Till)(nil)

// NewTill makes a till that is paid by the given handlers. All but [MockHandler] accept any token, as the public samples
// do; a card pays by any handler.
func NewTill(store keyvalue.Store, handlers []model.PaymentHandler) *Till {
	return &Till{store, handlers}
}

// Handlers implements [Payments].
func (t *Till) Handlers() []model.PaymentHandler { return t.handlers }

// receipt is what is kept of a payment that was taken. A payment that was declined changes nothing, and the same
// instrument is declined again.
type receipt struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// Take implements [Payments].
func (t *Till) Take(ctx context.Context, p Payment) error {
	if no := t.check(p); no != nil {
		return no
	}
	value, err := json.Marshal(receipt{p.Amount, p.Currency})
	if err != nil {
		return fmt.Errorf("shop: payment %s: %w", p.Name, err)
	}
	// A conflict means that it was taken before.
	if _, err = t.store.Put(ctx, "payment."+p.Name, value, 0); err != nil && !errors.Is(err, keyvalue.ErrConflict) {
		return fmt.Errorf("shop: payment %s: %w", p.Name, err)
	}
	return nil
}

// GiveBack implements [Payments].
func (t *Till) GiveBack(ctx context.Context, name string) error {
	for {
		taken, err := t.store.Get(ctx, "payment."+name)
		if errors.Is(err, keyvalue.ErrNone) {
			return nil
		}
		if err == nil {
			err = t.store.Delete(ctx, taken.Name, taken.Revision)
		}
		if !errors.Is(err, keyvalue.ErrConflict) {
			return err
		}
	}
}

// check says why a payment is declined; nil if it is not.
func (t *Till) check(p Payment) *model.No {
	var instrument struct {
		Handler    string `json:"handler_id"`
		Credential *struct {
			Type   string `json:"type"`
			Token  string `json:"token"`
			Number string `json:"number"`
		} `json:"credential"`
	}
	if err := p.Instrument.Decode(&instrument); err != nil || instrument.Credential == nil {
		return model.Refuse("invalid", "$.payment_data.credential", "Missing credentials in instrument")
	}
	switch credential := instrument.Credential; {
	case credential.Type == "card" && credential.Number != "":
		return nil
	case instrument.Handler != MockHandler:
		return nil
	case credential.Token == TokenPays:
		return nil
	case credential.Token == TokenLacks:
		return model.Refuse("insufficient_funds", "$.payment_data", "Payment Failed: Insufficient Funds (Mock)")
	case credential.Token == TokenIsFraud:
		return model.Refuse("fraud_detected", "$.payment_data", "Payment Failed: Fraud Detected (Mock)")
	default:
		return model.Refuse("unknown_token", "$.payment_data", "Unknown mock token")
	}
}
