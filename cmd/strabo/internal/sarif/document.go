package sarif

// The parts of a SARIF document that are written, named as the format names them.
type (
	document struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool        tool         `json:"tool"`
		Invocations []invocation `json:"invocations"`
		ColumnKind  string       `json:"columnKind"`
		Results     []result     `json:"results"`
	}
	tool struct {
		Driver driver `json:"driver"`
	}
	driver struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		URI     string `json:"informationUri"`
		Rules   []rule `json:"rules"`
	}
	rule struct {
		ID      string        `json:"id"`
		Name    string        `json:"name"`
		Short   message       `json:"shortDescription"`
		Full    message       `json:"fullDescription"`
		Help    message       `json:"help"`
		HelpURI string        `json:"helpUri"`
		Default configuration `json:"defaultConfiguration"`
	}
	configuration struct {
		Level string `json:"level"`
	}
	invocation struct {
		Successful    bool           `json:"executionSuccessful"`
		Notifications []notification `json:"toolExecutionNotifications,omitempty"`
	}
	notification struct {
		Level   string  `json:"level"`
		Message message `json:"message"`
	}
	result struct {
		RuleID    string     `json:"ruleId"`
		RuleIndex int        `json:"ruleIndex"`
		Level     string     `json:"level"`
		Message   message    `json:"message"`
		Locations []location `json:"locations"`
		CodeFlows []codeFlow `json:"codeFlows,omitempty"`
		Fixes     []fix      `json:"fixes,omitempty"`
	}
	message struct {
		Text string `json:"text"`
	}
	location struct {
		PhysicalLocation physicalLocation `json:"physicalLocation"`
		Message          *message         `json:"message,omitempty"`
	}
	physicalLocation struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
	}
	artifact struct {
		URI string `json:"uri"`
	}
	region struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
		ByteOffset  int `json:"byteOffset"`
		ByteLength  int `json:"byteLength"`
	}
	codeFlow struct {
		ThreadFlows []threadFlow `json:"threadFlows"`
	}
	threadFlow struct {
		Locations []flowLocation `json:"locations"`
	}
	flowLocation struct {
		Location location `json:"location"`
	}
	fix struct {
		Description message  `json:"description"`
		Changes     []change `json:"artifactChanges"`
	}
	change struct {
		Artifact     artifact      `json:"artifactLocation"`
		Replacements []replacement `json:"replacements"`
	}
	replacement struct {
		Deleted  region   `json:"deletedRegion"`
		Inserted *content `json:"insertedContent"`
	}
	content struct {
		Text string `json:"text"`
	}
)
