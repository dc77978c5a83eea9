package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/pause"
)

func TestForWaitsAsLongAsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.NoError(t, pause.For(t.Context(), time.Hour))
		require.Equal(t, time.Hour, time.Since(began))
		require.NoError(t, pause.For(t.Context(), 0))
		require.NoError(t, pause.For(t.Context(), -time.Hour))
		require.Equal(t, time.Hour, time.Since(began))
	})
}

func TestForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("it is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, pause.For(ctx, time.Hour), why)
		require.Equal(t, time.Minute, time.Since(began))
		require.ErrorIs(t, pause.For(ctx, 0), why)
	})
}
