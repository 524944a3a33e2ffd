// Package compress codes vectors as messages of fewer bytes, as models and their changes
// travel between a server and its devices. Messages are encoded and decoded: a receiver
// uses the decoded vector, and the size of a message is its length.
//
// It must not know the meaning of the vectors, nor when and by whom they are sent.
package compress
