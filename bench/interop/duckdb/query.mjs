// Reads a run directory with DuckDB and prints one JSON object for duckdb_test.go:
// node query.mjs DIR
import { DuckDBInstance } from "@duckdb/node-api";

const directory = process.argv[2].replaceAll("'", "''");
const file = (name) => `'${directory}/${name}'`;
const database = await (await DuckDBInstance.create(":memory:")).connect();

async function rows(query) {
  const reader = await database.runAndReadAll(query);
  return reader.getRowObjectsJson();
}

// Sums over devices by run, joined with the swept keys of runs.csv.
const sums = await rows(`
  SELECT r.run, r."network.profile" AS profile, d.*
  FROM read_csv(${file("runs.csv")}) r
  JOIN (
    SELECT run,
      count(*)::INTEGER AS rows, sum(taken)::DOUBLE AS participants, sum(dropped)::DOUBLE AS dropped, sum(late)::DOUBLE AS late,
      sum(flops) AS flops, sum(bytes_down) AS bytes_down, sum(bytes_up) AS bytes_up, sum(energy_j) AS energy_j,
      sum(downlink_s + compute_s + uplink_s + wait_s + unavailable_s + depleted_s) AS seconds,
      count(response_s)::DOUBLE AS responses, count(theta)::INTEGER AS measured
    FROM ${file("devices.parquet")} GROUP BY run
  ) d USING (run)
  ORDER BY r.run`);

// Rows of the export rounds.csv that rounds.parquet lacks, and vice versa.
const types = `{'seed': 'UBIGINT', 'time_s': 'DOUBLE', 'flops': 'DOUBLE', 'bytes_down': 'DOUBLE', 'bytes_up': 'DOUBLE', 'energy_j': 'DOUBLE'}`;
const [csv, parquet] = [`FROM read_csv(${file("rounds.csv")}, types = ${types})`, `FROM ${file("rounds.parquet")}`];
const [differing] = await rows(`
  SELECT (SELECT count(*) FROM (${csv} EXCEPT ALL ${parquet}))::INTEGER AS lost,
         (SELECT count(*) FROM (${parquet} EXCEPT ALL ${csv}))::INTEGER AS gained,
         (SELECT count(*) ${parquet})::INTEGER AS rows`);

// Values by client in the last round of each run, and all values of the whole model.
const clients = await rows(`
  SELECT run, round::INTEGER AS round, split, name, count(value)::INTEGER AS values, sum(value) AS sum, min(client)::INTEGER AS first, max(client)::INTEGER AS last
  FROM ${file("client_values.parquet")} clients
  GROUP BY run, round, split, name QUALIFY clients.round = max(clients.round) OVER (PARTITION BY run) ORDER BY run`);
const metrics = await rows(`SELECT run, count(*)::INTEGER AS values, arg_max(value, round) AS last FROM ${file("metrics.parquet")} WHERE split = 'test' AND name = 'accuracy' GROUP BY run ORDER BY run`);

const about = async (name) => {
  const columns = await rows(`DESCRIBE FROM ${file(name)}`);
  const [metadata] = await rows(`SELECT decode(value) AS text FROM parquet_kv_metadata(${file(name)}) WHERE decode(key) = 'fedsim.columns'`);
  return { types: Object.fromEntries(columns.map((c) => [c.column_name, c.column_type])), about: JSON.parse(metadata.text) };
};

console.log(JSON.stringify({ sums, differing, clients, metrics, byClient: await about("client_values.parquet"), ...(await about("devices.parquet")) }));
