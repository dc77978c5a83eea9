package lsp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const purchase = `Purchase
who Buyer, Seller, Shipper
what ID key, Reject or Deliver
do
  Buyer: RFQ(ID, item)
  Seller: Quote(ID, item, price)
  Buyer: Accept(ID, Quote, price, address)
  Buyer: Reject(ID, Quote)
  Shipper: Deliver(ID, Accept, address)
sayso
  Buyer > Seller: item
  Seller: price
  Buyer: address
nono
  Accept Reject
`

const uri = "file:///purchase.lsh"

// ranges gives the ranges of locations, edits or highlights.
func ranges(t *testing.T, raw json.RawMessage) []string {
	var list []struct {
		Range json.RawMessage `json:"range"`
	}
	require.NoError(t, json.Unmarshal(raw, &list))
	var out []string
	for _, l := range list {
		out = append(out, short(l.Range))
	}
	return out
}

func TestSession(t *testing.T) {
	c := begin(t)
	c.open(uri, purchase)
	version, found := c.diagnostics(uri)
	require.Equal(t, 1, version)
	require.Empty(t, found)
	_, found = c.diagnostics(uri)
	require.Empty(t, found, "live and safe")

	var hover struct {
		Contents struct{ Kind, Value string }
		Range    json.RawMessage
	}
	c.call("textDocument/hover", at(uri, 6, 12), &hover)
	require.Equal(t, "markdown", hover.Contents.Kind)
	require.Equal(t, "6:9-6:15", short(hover.Range))
	require.Empty(t, cmp.Diff("**Accept**, an action of `Buyer`\n\n`Buyer: Accept(ID, Quote, price, address)`\n\n"+
		"- happens once for each value of `ID`\n- comes after `Quote`\n- needs to know `price`\n- may bind `ID` and `address`\n"+
		"- excluded by `Reject` (nono, line 15)\n- seen by `Shipper`\n- seen in part by `Seller`\n", hover.Contents.Value))
	c.call("textDocument/hover", at(uri, 10, 18), &hover)
	require.Empty(t, cmp.Diff("**item**, an attribute\n\n- sayso: `Buyer > Seller`\n- bound once for each value of `ID`\n"+
		"- carried by `RFQ` and `Quote`\n- seen by `Buyer` and `Seller`\n- not seen by `Shipper`\n", hover.Contents.Value))
	c.call("textDocument/hover", at(uri, 8, 2), &hover)
	require.Empty(t, cmp.Diff("**Shipper**, a role\n\n- does `Deliver`\n- sees all of `Accept` and `Reject`\n", hover.Contents.Value))
	c.call("textDocument/hover", at(uri, 0, 0), &hover)
	require.Contains(t, hover.Contents.Value, "complete with `Reject` or `Deliver`")
	c.call("textDocument/hover", at(uri, 13, 0), &hover)
	require.Contains(t, hover.Contents.Value, "**nono** lists actions that exclude each other")
	var none any
	c.call("textDocument/hover", at(uri, 4, 1), &none)
	require.Nil(t, none)

	var raw json.RawMessage
	c.call("textDocument/definition", at(uri, 14, 4), &raw)
	require.Equal(t, []string{"6:9-6:15"}, ranges(t, raw), "an action")
	c.call("textDocument/definition", at(uri, 8, 6), &raw)
	require.Equal(t, []string{"1:19-1:26"}, ranges(t, raw), "a role")
	c.call("textDocument/definition", at(uri, 6, 29), &raw)
	require.Equal(t, []string{"11:10-11:15"}, ranges(t, raw), "an attribute")
	c.call("textDocument/definition", at(uri, 4, 14), &raw)
	require.Equal(t, []string{"2:5-2:7"}, ranges(t, raw), "a key")
	c.call("textDocument/references", with(at(uri, 6, 9), "context", object{"includeDeclaration": false}), &raw)
	require.Equal(t, []string{"8:23-8:29", "14:2-14:8"}, ranges(t, raw))
	c.call("textDocument/references", with(at(uri, 6, 9), "context", object{"includeDeclaration": true}), &raw)
	require.Len(t, ranges(t, raw), 3)
	c.call("textDocument/documentHighlight", at(uri, 11, 10), &raw)
	require.Equal(t, []string{"5:26-5:31", "6:27-6:32", "11:10-11:15"}, ranges(t, raw))

	var symbols []struct {
		Name     string
		Children []struct {
			Name     string
			Children []struct{ Name, Detail string }
		}
	}
	c.call("textDocument/documentSymbol", at(uri, 0, 0), &symbols)
	require.Equal(t, "Purchase", symbols[0].Name)
	var outline []string
	for _, clause := range symbols[0].Children {
		line := clause.Name
		for _, child := range clause.Children {
			line += " " + child.Name
		}
		outline = append(outline, line)
	}
	require.Equal(t, []string{
		"who Buyer Seller Shipper", "what ID", "do RFQ Quote Accept Reject Deliver", "sayso item price address", "nono",
	}, outline)
	c.finish()
}

func (c *client) labels(uri string, line, character int) string {
	var list struct {
		Items []struct{ Label, SortText string }
	}
	c.call("textDocument/completion", at(uri, line, character), &list)
	var labels []string
	for _, item := range list.Items {
		labels = append(labels, item.Label)
	}
	return strings.Join(labels, " ")
}

func TestCompletion(t *testing.T) {
	c := begin(t)
	for i, test := range []struct{ add, want string }{
		{"  ", "RFQ Quote Accept Reject Deliver who what do sayso nono nogo"},
		{"  RFQ ", "Quote Accept Reject Deliver"},
		{"nogo\n  Accept ", "-/>"},
		{"nogo\n  Accept -/> ", "RFQ Quote Reject Deliver"},
		{"do Seller: Cancel(ID, ", "item price address RFQ Quote Accept Reject Deliver"},
		{"do ", "Buyer Seller Shipper"},
		{"do Bank: Pay(ID, Bill)\nBank: ", "Bill"},
		{"do Seller: X(ID, fee)\nsayso Seller: ", "fee ID"},
		{"sayso Buyer > ", "Seller Shipper"},
		{"do Bank: Pay(ID)\nwho ", "Bank"},
		{"what Reject ", "key or"},
		{"# sayso ", ""},
	} {
		uri := fmt.Sprintf("file:///%d.lsh", i)
		c.open(uri, purchase+test.add)
		lines := strings.Split(purchase+test.add, "\n")
		require.Equal(t, test.want, c.labels(uri, len(lines)-1, len(lines[len(lines)-1])), test.add)
	}
	c.finish()
}

func TestRename(t *testing.T) {
	c := begin(t)
	c.open(uri, purchase)
	rename := func(line, character int, to string) object { return with(at(uri, line, character), "newName", to) }
	var raw json.RawMessage
	c.call("textDocument/prepareRename", at(uri, 6, 10), &raw)
	require.Equal(t, "6:9-6:15", short(raw))
	var changed struct{ Changes map[string]json.RawMessage }
	c.call("textDocument/rename", rename(6, 10, "Buy"), &changed)
	require.Equal(t, []string{"6:9-6:15", "8:23-8:29", "14:2-14:8"}, ranges(t, changed.Changes[uri]))
	c.call("textDocument/rename", rename(1, 5, "Customer"), &changed)
	require.Len(t, ranges(t, changed.Changes[uri]), 6)
	c.call("textDocument/rename", rename(4, 18, "Buyer"), &changed)
	require.Len(t, ranges(t, changed.Changes[uri]), 3, "an attribute may have the name of a role")

	for _, test := range []struct {
		line, character int
		to, message     string
	}{
		{6, 10, "Reject", "Reject is the name of a thing already: the action on line 3"},
		{6, 10, "item", "item is the name of a thing already: the attribute on line 5"},
		{6, 10, "Buyer", "Buyer is the name of a thing already: the role on line 2"},
		{1, 5, "Seller", "Seller is the name of a thing already: the role on line 2"},
		{1, 5, "Accept", "Accept is the name of a thing already: the action on line 7"},
		{1, 5, "sayso", "no name that can be used: `sayso` begins a clause"},
		{1, 5, "or", "no name that can be used: `or` has a meaning of its own in what"},
		{1, 5, "a b", "no name that can be used: in `a b` not all are letters, digits, _ and -, the first a letter or a digit"},
		{1, 5, "a@B", "no name that can be used: `a@B` has an @, which stands for delegation"},
		{0, 2, "X", "only roles, actions and attributes can be renamed"},
		{3, 1, "X", "only roles, actions and attributes can be renamed"},
		{4, 0, "X", "there is no name here"},
	} {
		code, message := c.refused("textDocument/rename", rename(test.line, test.character, test.to))
		require.Equal(t, -32803, code)
		require.Equal(t, test.message, message)
	}
	c.finish()
}

func TestFormatting(t *testing.T) {
	c := begin(t)
	c.open(uri, "P\nwho A\nwhat ID key\ndo\nA:One( ID )")
	var edits []struct{ NewText string }
	c.call("textDocument/formatting", object{"textDocument": object{"uri": uri}}, &edits)
	require.Len(t, edits, 1)
	c.open(uri, edits[0].NewText)
	c.call("textDocument/formatting", object{"textDocument": object{"uri": uri}}, &edits)
	require.Empty(t, edits)
	c.open(uri, "P\nwho A\nwhat")
	code, _ := c.refused("textDocument/formatting", object{"textDocument": object{"uri": uri}})
	require.Equal(t, -32803, code)
	c.finish()
}

func TestFixes(t *testing.T) {
	c := begin(t)
	c.open(uri, purchase+"nogo\n  Reject -/> Delivr\n")
	_, found := c.diagnostics(uri)
	require.Equal(t, []string{"1 unknown-action 16:13-16:19"}, found)
	var actions []struct {
		Title string
		Edit  struct{ Changes map[string]json.RawMessage }
	}
	params := object{"textDocument": object{"uri": uri}, "range": edit(16, 14, 14, "")["range"]}
	c.call("textDocument/codeAction", params, &actions)
	require.Len(t, actions, 1)
	require.Equal(t, "Change to Deliver", actions[0].Title)
	require.Equal(t, []string{"16:13-16:19"}, ranges(t, actions[0].Edit.Changes[uri]))
	c.finish()
}

func TestPositions(t *testing.T) {
	// A wide character before the name on its line, one of two bytes in it, tabs, and the line ends that there are.
	const text = "P\r\nwho A,\t\U00020000x,\tÉtat\rwhat ID key, One\ndo\n\tA:\tOne(ID)"
	for _, test := range []struct {
		encoding   string
		start, end int
	}{{"utf-8", 14, 19}, {"utf-16", 12, 16}, {"utf-32", 11, 15}} {
		t.Run(test.encoding, func(t *testing.T) {
			c := begin(t, "utf-7", test.encoding)
			c.open(uri, text)
			var raw json.RawMessage
			c.call("textDocument/prepareRename", at(uri, 1, test.start+1), &raw)
			require.Equal(t, fmt.Sprintf("1:%d-1:%d", test.start, test.end), short(raw))
			c.call("textDocument/prepareRename", at(uri, 4, 4), &raw)
			require.Equal(t, "4:4-4:7", short(raw))
			c.change(uri, 2, edit(1, test.start, test.end, "Öl"), edit(99, 0, 9, "\nsayso"), edit(2, 4, 4, ":"))
			c.call("textDocument/prepareRename", at(uri, 1, test.start+1), &raw)
			require.Equal(t, fmt.Sprintf("1:%d-1:%d", test.start, test.start+2+map[string]int{"utf-8": 1}[test.encoding]), short(raw))
			c.call("textDocument/references", with(at(uri, 5, 1), "context", object{"includeDeclaration": true}), &raw)
			require.Equal(t, []string{"5:0-5:5"}, ranges(t, raw))
			c.call("textDocument/prepareRename", at(uri, 2, 99), &raw)
			require.Equal(t, "2:14-2:17", short(raw), "beyond the end of a line is its end")
			c.finish()
		})
	}
}
