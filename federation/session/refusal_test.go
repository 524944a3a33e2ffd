package session

import (
	"errors"
	"testing"

	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
)

// A driver averages updates itself, so that a session has no use for weights.
func TestSessionsRefuseWhatTheyDoNotDo(t *testing.T) {
	for key, change := range map[string]func(*learning.Setup){
		"federation.late": func(s *learning.Setup) { s.Config.Late = federation.KeepREFL },
		"federation.protocol": func(s *learning.Setup) {
			s.Config.Protocol, s.Config.Late = protocols.Compass,
				federation.Drop
		},
	} {
		s := world(t, "fedavg", protocols.Deadline,
			func(s *learning.Setup) { s.Config.DeadlineS, s.Config.Late = 5, federation.Keep })
		change(&s)
		_, err := New(driven(s))
		var problem config.Problem
		if !errors.As(err, &problem) || problem.Key != key {
			t.Errorf("%s: the error is %v", key, err)
		}
	}
}
