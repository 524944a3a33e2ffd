//go:build !noparquet

package command

import _ "fedsim/data/parquet" // a source of data
