package main

import "time"

type buyCommand struct {
	Business string   `required:"" placeholder:"URL" help:"The shop; its discovery document is looked for below."`
	Item     []string `required:"" sep:"none" placeholder:"ID[=N]" help:"What to buy, and how many of it; may be given more than once."`
	Quantity int64    `default:"1" help:"How many of each whose --item does not say it."`
	Buyer    string   `placeholder:"EMAIL" help:"Who buys. Some shops know where their customers live."`
	Pay      string   `placeholder:"HANDLER:TOKEN" help:"What to pay with; by default the first test token that the shop's discovery offers, or else a made-up token for its first handler."`
	Max      *int64   `placeholder:"AMOUNT" help:"Cancel if the total is more than this, in minor units of the currency, such as cents."`
	Currency string   `default:"USD" help:"What to buy in, an ISO 4217 code. A checkout in another currency is never paid."`

	Option           string   `default:"cheapest" help:"The id of the delivery option, or cheapest."`
	NoDelivery       bool     `help:"Have nothing delivered, as with digital goods."`
	Discount         []string `group:"Discounts" sep:"none" placeholder:"CODE" help:"A discount code; may be given more than once. One that the shop does not take is told, and the purchase goes on without it."`
	RequireDiscounts bool     `group:"Discounts" name:"require-discounts" help:"Cancel if the shop does not take every code."`

	Analytics   *bool `group:"Consent" name:"consent-analytics" negatable:"" help:"What the buyer says to being analysed; --no-... says no, and without either nothing is said."`
	Preferences *bool `group:"Consent" name:"consent-preferences" negatable:"" help:"To having their preferences kept."`
	Marketing   *bool `group:"Consent" name:"consent-marketing" negatable:"" help:"To being sent advertisements."`
	SaleOfData  *bool `group:"Consent" name:"consent-sale-of-data" negatable:"" help:"To having their data sold."`

	Street     string `group:"Address" help:"Street and number. Without an address the shop's first for the buyer is taken."`
	City       string `group:"Address" help:"The locality."`
	Region     string `group:"Address" help:"The region or state."`
	PostalCode string `group:"Address" help:"The postal code."`
	Country    string `group:"Address" help:"The country, a two-letter code."`

	PlainHTTP bool   `name:"plain-http" help:"Buy at a shop that is neither on https nor on this machine: anybody on the way can read and change what is said."`
	Release   string `placeholder:"DATE" help:"The release of UCP to speak; by default the newest that the shop knows where there is a --profile, else the oldest."`
	Transport string `placeholder:"rest|mcp" help:"How to call the shop; by default over REST where it can be, else over MCP."`

	Journal string `group:"Journal" placeholder:"FILE" help:"Write down what is asked of the shop before it is asked, so that the same command again goes on with the purchase instead of buying twice."`
	OrderID string `group:"Journal" name:"order-id" placeholder:"ID" help:"Which purchase in the journal; a new id begins a new one. By default order."`

	Policy string `group:"Policy" type:"path" placeholder:"FILE" help:"A runtime.yaml: what is wanted of the operations of a UCP shop beyond their contracts. It may only tighten them."`
	Ask    string `group:"Policy" type:"path" placeholder:"DIR" help:"Pay only when somebody has agreed with strabo approvals; the question is put into this directory (DIR.key, or that of --audit, has the key of its digests). Without it the command itself agrees."`
	Audit  string `group:"Policy" type:"path" placeholder:"FILE" help:"Append to an audit what is asked of the shop and what is not, for strabo audit. What changes anything does not leave unless it is in there first. FILE.key has the key of its hashes."`

	Profile       string `group:"Platform" placeholder:"URL" help:"Where the platform's profile is, which shops of UCP 2026-01-23 and later fetch; {release} in it stands for the release that is spoken. See strabo profile. Without it the oldest release is spoken that the shop knows."`
	SigningKey    string `group:"Platform" type:"path" placeholder:"FILE" help:"Private key (PEM, P-256) that requests are signed with. The profile has the public one."`
	SigningKeyID  string `group:"Platform" name:"signing-key-id" default:"platform-1" placeholder:"ID" help:"The id of the key in the profile: ${default}."`
	RequireSigned bool   `group:"Platform" name:"require-signed" help:"Believe only answers that the shop has signed, as shops of UCP 2026-04-08 may. Without it a signature is verified where there is one."`
	MandateKey    string `group:"Platform" type:"path" placeholder:"FILE" help:"Private key (PEM, P-256) that mandates are signed with (AP2), where the shop takes them: then nothing is paid without. The profile has the public one; see strabo profile --mandate-key."`
	MandateKeyID  string `group:"Platform" name:"mandate-key-id" default:"mandate-1" placeholder:"ID" help:"The id of that key in the profile: ${default}."`

	Follow    bool          `group:"Following" help:"When the order is placed, say what becomes of it, until all of it is delivered."`
	FollowFor time.Duration `group:"Following" name:"follow-for" default:"24h" help:"How long to follow: ${default}."`
	Look      time.Duration `group:"Following" default:"10s" help:"How often to ask the shop for the order; 0 to wait for its webhooks alone."`
	Webhooks  string        `group:"Following" placeholder:"ADDR" help:"Listen here for what the shop tells of the order. Without --profile the platform's profile is served here as well."`
	PublicURL string        `group:"Following" name:"public-url" placeholder:"URL" help:"Where shops reach --webhooks; by default http://ADDR."`

	Timeout time.Duration `default:"2m" help:"How long to wait, also for finding out what became of a lost call."`
	JSON    bool          `name:"json" help:"Print records and calls, one JSON object a line, instead of the order."`
}

// Help is shown by strabo buy --help.
func (buyCommand) Help() string {
	return `Buys at a shop that speaks UCP (2026-01-11, 2026-01-23 or 2026-04-08, over REST or MCP), by the protocol ` +
		`ucp-incremental, and prints the order. The checkout is filled in step by step. The bill is looked at before it is paid: if it does not add up, is above --max, in another currency ` +
		`than --currency or about other goods, it is not paid, and the checkout is cancelled. What the shop calls the entries of ` +
		`the bill is printed on standard error, and so are its warnings.

--item ID=N buys N of ID; an id that itself ends in = and digits is written with its number. Discount codes, consent and ` +
		`delivery are extensions, which a shop may not have: what is asked of one that is not active there is refused in words, ` +
		`and nothing is sent. A code that the shop does not take is told, with its reason, and the purchase goes on ` +
		`unless --require-discounts is given.

If the shop needs a person, such as for signing in, or for a bill that does not add up, it is said on standard error where ` +
		`to go on, and the command waits for the order that is placed there. What a shop wants to have shown is printed ` +
		`there, too.

If a call to the shop is lost, its fate is asked for; while that is unknown nothing is paid again. With --journal the ` +
		`purchase outlives the process: run the same command again after a crash, or when nobody could tell whether there ` +
		`is an order, and it goes on with the same checkout and the same idempotency keys. A purchase that has ended ends ` +
		`the same way again, without a call; to buy again, or to pay in another way, give another --order-id.

Every call is made under the contracts of protocols/simple-ucp.contracts.yaml: to pay is of high risk, is done on behalf of ` +
		`the user who runs the command, and takes an approval. The command itself is one, unless --ask has another asked.

With --mandate-key, and at a shop that takes mandates, what the shop says of the checkout has to be signed by it, and the ` +
		`payment comes with a mandate for just that, good until the checkout expires.

What a shop of UCP 2026-04-08 has signed is verified, with the keys of its profile: an answer whose signature is wrong is no ` +
		`answer, and what became of the request is asked for. With --require-signed an answer without a signature is none either; a shop that signs nothing is ` +
		`not bought at then.

With --follow the command stays when the order is placed, and prints what the shop says of it: what was shipped and ` +
		`delivered, and what was adjusted. It asks the shop (UCP 2026-04-08; shops of the older releases may have that, too), ` +
		`and with --webhooks it is told. A shop finds the webhook in the platform's profile, at http://ADDR/{release} unless ` +
		`--profile says that you have one of your own, which then has to name it (strabo profile --webhook URL/orders). What a shop ` +
		`tells is believed if it is signed with a key of its profile; what a shop without keys tells has the command ask.

With --json there is a line of kind discounts where there are any, or codes were asked for: enactment, currency, applied ` +
		`(code, title, amount, provisional) and rejected (code, reason, content). Without --follow the last line is of kind unknown if nobody can tell what became of a call, and of kind diverged if the ` +
		`shop did what the protocol does not allow: with enactment, action, step, order (none if certainly nothing was ` +
		`paid, placed if there is one that is not as it was agreed to, else unknown), checkout and url at the shop, key (the idempotency key), asked, status and said (the last ` +
		`call and its answer), found (what the shop said when it was asked about that), and detail.

Exit status: 0 if the order was placed; 1 if there is no order (the shop refused or declined, in its own words, or the ` +
		`checkout was cancelled), if it is not as it was agreed to, or if nobody can tell whether there is one; 2 on wrong use, and if there is no such shop, ` +
		`so that nothing was asked of it. If standard output fails, the answer goes to standard error, and the exit status ` +
		`is that of the answer.`
}

func (buyCommand) examples() string {
	return `  strabo buy --business http://localhost:8182 --item pot_ceramic --quantity 2 --buyer john.doe@example.com
  strabo buy --business http://localhost:3000 --item bouquet_roses --pay mock_payment_handler:success_token
  strabo buy --business https://shop.example --item lamp --street '9 New Rd' --city Austin --region TX \
      --postal-code 73301 --country US --max 10000
  strabo buy --business http://localhost:8182 --item pot_ceramic=2 --item orchid_white --buyer john.doe@example.com \
      --discount 10OFF --discount FIXED500 --no-consent-marketing
  strabo buy --business http://localhost:8182 --item oil-lamp --transport mcp --profile 'http://localhost:8285/{release}'
  strabo buy --business https://shop.example --item lamp --journal purchases.journal --order-id lamp-for-ada
  strabo buy --business https://shop.example --item lamp --ask approvals --audit audit.jsonl --timeout 1h
  strabo buy --business http://localhost:8182 --item oil-lamp --country GR --follow --webhooks 127.0.0.1:8286
  strabo buy --business https://shop.example --item lamp --profile 'https://me.example/{release}' --mandate-key mandates.pem
  strabo buy --business https://shop.example --item lamp --profile 'https://me.example/{release}' --require-signed
  strabo buy --business http://localhost:8182 --item orchid_white --json | jq -r 'select(.status).url'
`
}

// deliveryExtension is the capability of having things delivered.
const deliveryExtension = "dev.ucp.shopping.fulfillment"

// defaultOrderID is the purchase in a journal that is meant where none is named.
const defaultOrderID = "order"
