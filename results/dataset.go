package results

import "strconv"

// DataSet describes a file of data beyond its scenario.
type DataSet struct {
	Name   string  `json:"name"`
	Labels []Label `json:"labels,omitempty"` // in ascending order; empty: real targets, or no names
	// Rows with missing values that were left out, or that have means in their place, and
	// the values that they miss.
	DroppedRows   int `json:"dropped_rows,omitempty"`
	FilledRows    int `json:"filled_rows,omitempty"`
	MissingValues int `json:"missing_values,omitempty"`
	// Clients that hold fewer rows than they have, and those that cannot hold their models and take no part
	// (data.memory_mb).
	ShortClients int `json:"short_clients,omitempty"`
	UnfitClients int `json:"unfit_clients,omitempty"`
	// Clients has the names of the clients; nil: the file has none.
	Clients *ClientList `json:"clients,omitempty"`
}

// NamesClients reports whether a file of data names its clients.
func (d *DataSet) NamesClients() bool { return d != nil && d.Clients != nil }

// ClientList has the clients of a file of data, in the order of their numbers.
type ClientList struct {
	Names   []string `json:"names"`
	Rows    []int32  `json:"rows"`              // for training
	Classes []string `json:"classes,omitempty"` // of the fleet of the run; empty: it has none
}

// ClientName returns the name of a client in the data of the run, or else its number.
func (r *Run) ClientName(client int) string {
	if r.Data.NamesClients() && client >= 0 && client < len(r.Data.Clients.Names) {
		return r.Data.Clients.Names[client]
	}
	return strconv.Itoa(client)
}

// Label is a label with the name of its class.
type Label struct {
	Value int    `json:"value"` // -1 or +1, or the number of the class, from 0
	Class string `json:"class"`
}
