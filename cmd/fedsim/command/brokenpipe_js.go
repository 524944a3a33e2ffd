package command

// ignoreBrokenPipe does nothing: there is no such signal.
func ignoreBrokenPipe() {}
