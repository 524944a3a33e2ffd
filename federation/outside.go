package federation

import "fedsim/clients"

// A Messenger hears of every message. Those of rounds are the server's first; of the messages
// of the driver's own the server does not know.

func (a *attempts) downloadedBeside(t int) (compute bool) {
	if a.device(t).chosen {
		return a.downloaded(t)
	}
	a.server.outside.Downloaded(t)
	return true
}

func (a *attempts) respondedBeside(t int) {
	ofRound := a.device(t).chosen
	if ofRound {
		a.responded(t)
	}
	a.server.outside.Responded(t, ofRound)
}

func (a *attempts) failedBeside(t int, why clients.Reason) {
	ofRound := a.device(t).chosen
	a.server.outside.Failed(t, why, ofRound)
	if ofRound {
		a.failed(t, why)
	}
}

func (a *attempts) unreachedBeside(t int, why clients.Reason) {
	ofRound := a.device(t).chosen
	a.server.outside.Failed(t, why, ofRound)
	if ofRound {
		a.unreached(t, why)
	}
}

func (a *attempts) timeoutBeside(t int) {
	if t >= 0 && !a.device(t).chosen { // a message of the driver's own has failed
		a.server.clients.StopWaiting(t)
		return
	}
	a.timeout(t)
	if t >= 0 && !a.server.clients.AtWork(t) {
		a.server.outside.Ended(t)
	}
}
