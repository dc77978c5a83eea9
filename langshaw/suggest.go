package langshaw

// nearestKeyword gives the clause keyword that was probably meant, or nothing.
func nearestKeyword(text string) string { return "" }
