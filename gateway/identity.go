package gateway

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hookgate/hookgate/gateway/config"
)

// identity matches an entry of one plan with the same entry of the next.
type identity struct {
	chain, name string
	fingerprint [32]byte
	// nth distinguishes identical entries.
	nth int
}

// identities returns the identities of the entries of one file.
func identities(chainName string, file *config.File) []identity {
	var all []identity
	twins := map[identity]int{}
	for _, h := range file.Hooks {
		id := identity{chain: chainName, name: h.Name, fingerprint: h.Fingerprint}
		nth := twins[id]
		twins[id]++
		id.nth = nth
		all = append(all, id)
	}
	return all
}

// renamed returns the running state of a previous entry of the same chain that
// differs from id only in its name, and that this plan no longer has under the
// old name. It returns nil if there is none.
func (b *builder) renamed(id identity) *live {
	if b.gone == nil {
		b.gone = b.missing()
	}
	for i, before := range b.gone {
		if before.chain == id.chain && before.fingerprint == id.fingerprint {
			b.gone = slices.Delete(b.gone, i, i+1)
			return b.kept[before]
		}
	}
	return nil
}

// missing returns the previous plan's entries whose identity this plan lacks,
// in a deterministic order.
func (b *builder) missing() []identity {
	there := map[identity]bool{}
	for _, id := range identities("", b.set.Operator) {
		there[id] = true
	}
	for name, file := range b.set.Chains {
		for _, id := range identities(name, file) {
			there[id] = true
		}
	}
	gone := []identity{} // never nil, so that it is computed only once
	for id := range maps.Keys(b.kept) {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b identity) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth)) })
	return gone
}
