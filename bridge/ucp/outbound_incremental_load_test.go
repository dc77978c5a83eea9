package ucp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/protocols"
)

func TestIncrementalMappingIsSound(t *testing.T) {
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	text, err := protocols.Files.ReadFile("ucp-incremental.outbound.yaml")
	require.NoError(t, err)
	mapping, err := bridge.Load("ucp-incremental.outbound.yaml", text, rules, ucp.Hooks(ucp.Choices{}))
	require.NoError(t, err)
	require.Equal(t, []string{"Create", "Update", "Complete", "HandOff", "Cancel"}, mapping.Actions())
}
