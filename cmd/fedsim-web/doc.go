// Command fedsim-web runs scenarios in a web page, with the same bits as fedsim.
//
// Built for js/wasm it is the program of the page: a worker calls its one function, fedsim. Elsewhere it makes the
// page:
//
//	fedsim-web FOLDER
//
// writes the files of the page, and one file that has all of them and works from a disk.
//
// It must not know how results are computed, stored or drawn.
package main
