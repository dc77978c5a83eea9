package shop

import (
	"embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// Data is what the published shop data format says, one CSV file a table. Amounts are in minor units.
type Data struct {
	// Products are those of products.csv, by id; Pieces how many there are, of inventory.csv.
	Products map[string]model.Item
	Pieces   map[string]int64
	// Rates are shipping_rates.csv, Promotions promotions.csv, both in order.
	Rates      []Rate
	Promotions []Promotion
	// Codes are the discounts of discounts.csv, by code in capitals.
	Codes map[string]Code
	// Addresses are where customers live, by email: customers.csv and addresses.csv.
	Addresses map[string][]model.Destination
	// Handlers are those of payment_handlers.json; without that file, [DefaultHandlers].
	Handlers []model.PaymentHandler
}

// Rate is what a service level costs to a country, or to all others where the country is default.
type Rate struct {
	ID, Country, Level, Title string
	Price                     int64
}

// Promotion makes the standard level free from a subtotal, or for some products.
type Promotion struct {
	From     int64 // 0: it does not depend on the subtotal
	Products []string
}

// Code is a discount: a percentage, or an amount.
type Code struct {
	Percent, Amount int64
	Title           string
}

//go:embed lamps
var lamps embed.FS

// Lamps are the data of a small shop of lanterns that ships with the engine.
func Lamps() fs.FS {
	dir, err := fs.Sub(lamps, "lamps")
	if err != nil {
		panic(err) // It is embedded.
	}
	return dir
}

// ReadData reads the files of a shop. Only products.csv is needed; a product without a line in inventory.csv cannot be
// bought. The error names the file, the line and what is wrong with it.
func ReadData(dir fs.FS) (*Data, error) {
	d := &Data{
		Products: make(map[string]model.Item), Pieces: make(map[string]int64), Codes: make(map[string]Code),
		Addresses: make(map[string][]model.Destination),
	}
	emails := make(map[string]string)
	tables := []struct {
		file   string
		needed bool
		take   func(row) error
	}{
		{"products.csv", true, d.product},
		{"inventory.csv", false, d.pieces},
		{"shipping_rates.csv", false, d.rate},
		{"promotions.csv", false, d.promotion},
		{"discounts.csv", false, d.code},
		{"customers.csv", false, func(r row) error { emails[r.text("id")] = r.text("email"); return nil }},
		{"addresses.csv", false, func(r row) error { return d.address(r, emails) }},
	}
	for _, table := range tables {
		err := readTable(dir, table.file, table.take)
		if err != nil && (table.needed || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("shop: %w", err)
		}
	}
	d.Handlers = DefaultHandlers()
	text, err := fs.ReadFile(dir, "payment_handlers.json")
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		d.Handlers = nil
		err = json.Unmarshal(text, &d.Handlers)
	}
	if err != nil {
		return nil, fmt.Errorf("shop: payment_handlers.json: %w", err)
	}
	return d, nil
}

// row is one line of a table, by column.
type row map[string]string

func (r row) text(column string) string { return r[column] }

// amount reads a whole number of at least 0; an empty one is 0.
func (r row) amount(column string) (int64, error) {
	if r[column] == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(r[column], 10, 64)
	if err != nil || n < 0 || n > mostAmount {
		return 0, fmt.Errorf("%s is %q and should be a whole number from 0 on", column, r[column])
	}
	return n, nil
}

func readTable(dir fs.FS, name string, take func(row) error) error {
	file, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.LazyQuotes = true // The published promotions.csv has a JSON array in a field without quotes.
	header, err := reader.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r := make(row, len(header))
		for i, column := range header {
			r[column] = record[i]
		}
		if err := take(r); err != nil {
			line, _ := reader.FieldPos(0)
			return fmt.Errorf("%s, line %d: %w", name, line, err)
		}
	}
}

func (d *Data) product(r row) error {
	item := model.Item{ID: r.text("id"), Title: r.text("title"), ImageURL: r.text("image_url")}
	var err error
	item.Price, err = r.amount("price")
	switch _, twice := d.Products[item.ID]; {
	case err != nil:
		return err
	case item.ID == "" || twice:
		return fmt.Errorf("id is %q and should be there once", item.ID)
	}
	d.Products[item.ID] = item
	return nil
}

func (d *Data) pieces(r row) error {
	id := r.text("product_id")
	if _, ok := d.Products[id]; !ok {
		return fmt.Errorf("there is no product %q", id)
	}
	var err error
	d.Pieces[id], err = r.amount("quantity")
	return err
}

func (d *Data) rate(r row) error {
	rate := Rate{ID: r.text("id"), Country: r.text("country_code"), Level: r.text("service_level"), Title: r.text("title")}
	var err error
	rate.Price, err = r.amount("price")
	d.Rates = append(d.Rates, rate)
	return err
}

func (d *Data) promotion(r row) error {
	if kind := r.text("type"); kind != "free_shipping" {
		return fmt.Errorf("there is no promotion of type %q", kind)
	}
	var p Promotion
	var err error
	if p.From, err = r.amount("min_subtotal"); err != nil {
		return err
	}
	if products := r.text("eligible_item_ids"); products != "" {
		if err := json.Unmarshal([]byte(products), &p.Products); err != nil {
			return fmt.Errorf("eligible_item_ids: %w", err)
		}
	}
	d.Promotions = append(d.Promotions, p)
	return nil
}

func (d *Data) code(r row) error {
	value, err := r.amount("value")
	if err != nil {
		return err
	}
	c := Code{Title: r.text("description")}
	switch kind := r.text("type"); kind {
	case "percentage":
		if c.Percent = value; value > 100 {
			return fmt.Errorf("value is %d percent", value)
		}
	case "fixed_amount":
		c.Amount = value
	default:
		return fmt.Errorf("there is no discount of type %q", kind)
	}
	d.Codes[strings.ToUpper(r.text("code"))] = c
	return nil
}

func (d *Data) address(r row, emails map[string]string) error {
	email := emails[r.text("customer_id")]
	if email == "" {
		return fmt.Errorf("there is no customer %q with an email", r.text("customer_id"))
	}
	d.Addresses[email] = append(d.Addresses[email], model.Destination{
		ID: r.text("id"), StreetAddress: r.text("street_address"), AddressLocality: r.text("city"),
		AddressRegion: r.text("state"), PostalCode: r.text("postal_code"), AddressCountry: r.text("country"),
	})
	return nil
}

// Terms are what a shop has beside its data; see [Options].
type Terms struct {
	Currency, OrderURL, ContinueURL string
	Links                           []model.Link
}

// Open makes a shop of data. What changes is kept in a store.
func Open(data *Data, store keyvalue.Store, terms Terms, logger *slog.Logger) (*Shop, error) {
	return New(Options{
		Currency: terms.Currency, Catalogue: data, Shipping: data, Discounts: data,
		Stock: NewStock(store, data.Pieces), Customers: NewCustomers(store, data.Addresses), Payments: NewTill(store, data.Handlers),
		Links: terms.Links, OrderURL: terms.OrderURL, ContinueURL: terms.ContinueURL, Store: store, Logger: logger,
	})
}
