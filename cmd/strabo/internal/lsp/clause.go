package lsp

// clauseOrder lists the clauses in the order in which a protocol mostly has them.
var clauseOrder = []string{"who", "what", "do", "sayso", "nono", "nogo"}

// clauses says what each clause is for.
var clauses = map[string]struct{ short, long string }{
	"who": {
		"the roles",
		"lists the roles. A role is played by a party: a person, a company, a program.\n\n`who Buyer, Seller`",
	},
	"what": {
		"what a complete enactment has",
		"lists what a complete enactment has: all that commas part, one of each that `or` joins. `key` marks a key.\n\n" +
			"`what ID key, Reject or Deliver`",
	},
	"do": {
		"the actions of the roles",
		"gives each action, the role that does it and the attributes that it carries. To carry the name of another action " +
			"is to come after it.\n\n`Seller: Quote(ID, RFQ, price)`",
	},
	"sayso": {
		"who decides an attribute",
		"says which roles may give an attribute its value, highest authority first: of two that try at the same time the " +
			"higher wins.\n\n`Buyer > Seller: item`",
	},
	"nono": {
		"what excludes each other",
		"lists actions that exclude each other, two or more on a line: once one has happened, the others may not.\n\n" +
			"`Accept Reject`",
	},
	"nogo": {
		"what stops what",
		"says that once the first action has happened, the second no longer may. It is one-way.\n\n`Reject -/> Instruct`",
	},
}
