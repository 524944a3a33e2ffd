package learning

import (
	"errors"
	"testing"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
)

// More devices than the engine can number are refused, before anything is made of them.
func TestTooManyDevicesAreRefused(t *testing.T) {
	_, err := New(Setup{Setup: federation.Setup{System: clients.System{Clients: clients.MaxClients + 1}}})
	if p, ok := errors.AsType[config.Problem](err); !ok || p.Key != "data.synthetic.clients" {
		t.Errorf("%v", err)
	}
}
