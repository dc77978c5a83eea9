package langshaw

// checkMissing reports what the text lacks. What may stand in an entry that is left out is not reported.
func (r *resolver) checkMissing() {
	d := r.draft
	if d.name.text == "" && d.keywords == [clauseCount]token{} {
		r.report.add(errorAt(d.name.span(), CodeMissingName, "there is no protocol here: a text begins with its name, and who, what and do follow"))
		return
	}
	if d.name.text == "" {
		r.report.add(errorAt(d.name.span(), CodeMissingName, "the name is missing: the first line that is not blank names the protocol"))
	}
	if len(d.roles) == 0 {
		r.reportMissing(who, CodeMissingWho, "no role is declared: list the roles, as in `who Buyer, Seller`")
	}
	switch {
	case len(d.what) == 0:
		r.reportMissing(what, CodeMissingWhat, "no key and no aim is declared: list them, as in `what ID key, Reject or Deliver`")
	case !r.keyed:
		r.reportMissing(what, CodeMissingKey,
			"no key is declared: mark the attribute that tells one enactment from another, as in `what ID key, Deliver`")
	}
	if len(d.actions) == 0 {
		r.reportMissing(do, CodeMissingDo, "no action is declared: list the actions, as in `do Buyer: RFQ(ID, item)`")
	}
}

func (r *resolver) reportMissing(c clause, code Code, message string) {
	if r.draft.faulty[c] {
		return
	}
	span := r.draft.name.span()
	if keyword := r.draft.keywords[c]; keyword.kind != endOfText {
		span = keyword.span()
	}
	r.report.add(errorAt(span, code, "%s", message))
}
