module fedsim/bench

go 1.26.0

require (
	fedsim v0.0.0
	github.com/sarchlab/akita/v4 v4.9.0
)

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/rs/xid v1.6.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace fedsim => ..
