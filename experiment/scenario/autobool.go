package scenario

import "fedsim/config"

// AutoBool is a TOML boolean or the string "auto", which leaves the choice to fedsim.
type AutoBool string

// Values of an AutoBool.
const (
	Auto AutoBool = "auto"
	Yes  AutoBool = "true"
	No   AutoBool = "false"
)

var _ config.Custom = (*AutoBool)(nil)

// TypeTOML returns the type.
func (*AutoBool) TypeTOML() string { return "boolean or string" }

// DecodeTOML takes true, false or "auto".
func (b *AutoBool) DecodeTOML(n *config.Node, key string) (problems config.Errors) {
	switch v := n.Value(); v {
	case true:
		*b = Yes
	case false:
		*b = No
	case string(Auto):
		*b = Auto
	default:
		problems.AddProblem(n.Place, config.Problem{Key: key, Value: v, Want: `must be true, false or "auto"`})
	}
	return problems
}

// MarshalTOML returns the value.
func (b AutoBool) MarshalTOML() ([]byte, error) {
	if b == Auto {
		return []byte(`"auto"`), nil
	}
	return []byte(b), nil
}
