// Package attemptlog reads and writes logs of real federations: one row for each attempt of a
// client, with bytes, work, instants on the server's clock, and durations on the client's clock.
// Clocks of clients are never compared with the server's.
//
// [Read] reads files of csv and parquet in the layout of [Columns] (docs/real.md), and a few
// other layouts, which it recognizes by their header. Its errors name file, line and column.
//
// The package must not know which models are fitted to a log.
package attemptlog
