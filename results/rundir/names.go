package rundir

import (
	"slices"
	"strconv"

	"fedsim/results"
)

// namesColumns are the columns of clients.csv.
var namesColumns = []column{
	{name: "data_set", kind: wholeCell, doc: "index into data_sets of manifest.json, to which runs refer"},
	{name: "client", kind: wholeCell, doc: "its number, from 0, as in devices.parquet and client_values.parquet"},
	{name: "name", kind: textCell, doc: "its name in the data"},
	{name: "rows", kind: wholeCell, doc: "its training rows"},
	{name: "class", kind: textCell, doc: "its class in the fleet; empty: there is no fleet"},
}

// hasClients reports whether a file of data names its clients.
func hasClients(sets []results.DataSet) bool {
	return slices.ContainsFunc(sets, func(d results.DataSet) bool { return d.NamesClients() })
}

// clientName returns the name of a client in the data of a run, "" if the data have none.
func clientName(of *results.DataSet, client int) string {
	if !of.NamesClients() || client >= len(of.Clients.Names) {
		return ""
	}
	return of.Clients.Names[client]
}

// namesTable is the table of the clients that files of data name.
func namesTable(sets []results.DataSet) table {
	return table{name: "clients", columns: namesColumns, rows: func(yield func([]string) error) error {
		for i, set := range sets {
			if set.Clients == nil {
				continue
			}
			for k, name := range set.Clients.Names {
				class := ""
				if len(set.Clients.Classes) > 0 {
					class = set.Clients.Classes[k]
				}
				row := []string{strconv.Itoa(i), strconv.Itoa(k), name, strconv.Itoa(int(set.Clients.Rows[k])), class}
				if err := yield(row); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}
