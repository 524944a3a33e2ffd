package results

// DataSet describes a file of data beyond its scenario.
type DataSet struct {
	Name   string  `json:"name"`
	Labels []Label `json:"labels,omitempty"` // in ascending order; empty: real targets, or no names
	// Rows with missing values that were left out, or that have means in their place, and
	// the values that they miss.
	DroppedRows   int `json:"dropped_rows,omitempty"`
	FilledRows    int `json:"filled_rows,omitempty"`
	MissingValues int `json:"missing_values,omitempty"`
}

// Label is a label with the name of its class.
type Label struct {
	Value int    `json:"value"` // -1 or +1, or the number of the class, from 0
	Class string `json:"class"`
}
