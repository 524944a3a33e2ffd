package input

// nonblock is no flag: a web page has no pipes.
const nonblock = 0
