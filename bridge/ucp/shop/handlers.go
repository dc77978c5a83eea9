package shop

import "github.com/strabo-engine/strabo/bridge/ucp/model"

// DefaultHandlers are the ways to pay that the public samples offer and their conformance suite asks for. None of them
// takes money here: see [Till].
func DefaultHandlers() []model.PaymentHandler {
	const version = "2026-01-11"
	return []model.PaymentHandler{
		{
			ID: "shop_pay", Name: "com.shopify.shop_pay", Version: version,
			Spec:              "https://shopify.dev/docs/agents/checkout/shop-pay-handler",
			ConfigSchema:      "https://shopify.dev/ucp/shop-pay-handler/2026-01-11/config.json",
			InstrumentSchemas: []string{"https://shopify.dev/ucp/shop-pay-handler/2026-01-11/instrument.json"},
			Config:            map[string]any{"shop_id": "strabo-shop"},
		},
		{
			ID: "google_pay", Name: "com.google.pay", Version: version,
			Spec:              "https://pay.google.com/gp/p/ucp/2026-01-11/",
			ConfigSchema:      "https://pay.google.com/gp/p/ucp/2026-01-11/schemas/config.json",
			InstrumentSchemas: []string{"https://pay.google.com/gp/p/ucp/2026-01-11/schemas/card_payment_instrument.json"},
			Config:            map[string]any{"api_version": 2, "api_version_minor": 0},
		},
		{
			ID: MockHandler, Name: "dev.ucp.mock_payment", Version: version,
			Spec:              "https://ucp.dev/specs/mock",
			ConfigSchema:      "https://ucp.dev/schemas/mock.json",
			InstrumentSchemas: []string{"https://ucp.dev/schemas/shopping/types/card_payment_instrument.json"},
			Config:            map[string]any{"supported_tokens": []string{TokenPays, TokenLacks, TokenIsFraud}},
		},
	}
}
