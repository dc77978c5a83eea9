package langshaw

import "slices"

// ranking is who has sayso, highest authority first. The attributes of one entry share it.
type ranking struct {
	roles []string
	// rank is nil where there are few roles.
	rank map[string]int
}

// nobody is the ranking of what no sayso entry names.
var nobody = newRanking(nil)

func newRanking(roles []string) *ranking {
	r := &ranking{roles: roles}
	if len(roles) > few {
		r.rank = make(map[string]int, len(roles))
		for rank, role := range roles {
			r.rank[role] = rank
		}
	}
	return r
}

// of gives the rank of a role, 0 the highest; false when it has none.
func (r *ranking) of(role string) (int, bool) {
	if r.rank != nil {
		rank, ok := r.rank[role]
		return rank, ok
	}
	rank := slices.Index(r.roles, role)
	return max(rank, 0), rank >= 0
}
