package gateway

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hookgate/hookgate/gateway/config"
)

// identity says which entry of one plan is which entry of the next.
type identity struct {
	chain, name string
	fingerprint [32]byte
	// nth tells apart entries that are the same to the letter.
	nth int
}

// identities are those of the entries of one file.
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

// renamed returns what the plan before holds of an entry of the same chain that
// has only changed its name: one that is made of the same, and that this plan
// does not have under its own name. It is nil where there is none.
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

// missing are the entries of the plan before that this one does not have under
// their names, in an order that is always the same.
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
	gone := []identity{} // even of nothing: it is made once
	for id := range maps.Keys(b.kept) {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b identity) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth)) })
	return gone
}
