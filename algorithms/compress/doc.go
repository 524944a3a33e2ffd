// Package compress codes vectors as messages of fewer bytes, as models and their changes
// travel between a server and its devices. A message is real: what a receiver uses is what
// it decodes, and the size of a message is its length.
//
// It must not know what the vectors mean, nor when and by whom they are sent.
package compress
