//go:build !race

package signature_test

import "testing"

// TestSigningTakesOneAllocation does not run under the race detector, which
// makes sync.Pool drop items at random.
func TestSigningTakesOneAllocation(t *testing.T) {
	signer := mustSigner(t, vectorSecret, vectorSecret)
	body := make([]byte, 300)
	got := testing.AllocsPerRun(1000, func() {
		if _, err := signer.Sign(vectorID, vectorTime, body); err != nil {
			t.Error(err)
		}
	})
	if got > 1 {
		t.Errorf("%v allocations", got)
	}
}
