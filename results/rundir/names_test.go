package rundir

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/parquetrows"
	"fedsim/results"
)

// Clients that a file of data names have their names in clients.csv and in the last column of the rows by device; those
// of another run in the directory have none.
func TestNamesOfClients(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	runs := syntheticRuns()[:2]
	for i := range runs {
		d := begin(t, w, i, runs[i]) // what is known of the data comes with the end
		if i == 0 {
			runs[i].Data = &results.DataSet{Name: "x", Clients: &results.ClientList{
				Names: []string{"site, 7", "Ärzte"}, Rows: []int32{3, 4}, Classes: []string{"old", "new"},
			}}
		}
		rows := []results.DeviceRow{results.NewDeviceRow(0), results.NewDeviceRow(1)}
		if err := errors.Join(d.Devices(rows), d.End(runs[i])); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, w, Complete)
	const want = "data_set,client,name,rows,class\n0,0,\"site, 7\",3,old\n0,1,Ärzte,4,new\n"
	if got := string(filetest.Read(t, filepath.Join(w.Dir(), clientsFile))); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", clientsFile, got, want)
	}
	found, err := Read(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if a, b, c := found.Runs[0].ClientName(1), found.Runs[0].ClientName(2), found.Runs[1].ClientName(1); a != "Ärzte" ||
		b != "2" || c != "1" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	var names []string
	err = openParquet(filepath.Join(w.Dir(), devicesParquet), func(f *parquet.File) error {
		for _, group := range f.RowGroups() {
			if err := parquetrows.Each(group, func(row []parquet.Value) error {
				names = append(names, string(row[len(row)-1].ByteArray()))
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(names) != 4 || names[0] != "site, 7" || names[1] != "Ärzte" || names[2]+names[3] != "" {
		t.Errorf("names %q, %v", names, err)
	}
	m := found.Manifest
	m.DataSets[0].Clients.Rows = nil
	if err := m.check(); err == nil ||
		err.Error() != "data_sets[0]: clients: has 2 names, 0 rows and 2 classes: must be as many" {
		t.Errorf("%v", err)
	}
}
