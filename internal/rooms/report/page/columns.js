// The columns of all rounds; see packedColumns in columns.go.

// bytesOf decodes base64.
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const plain = atob(text);
  const bytes = new Uint8Array(plain.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

// unpack returns the columns by name, as arrays of n numbers.
async function unpack(columns, n) {
  const packed = new Blob([bytesOf(columns.data || "")]).stream();
  const bytes = new Uint8Array(await new Response(packed.pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer());
  const byName = {};
  let start = 0;
  columns.names.forEach((name, c) => {
    const size = columns.bits[c] / 8;
    const ordered = new Uint8Array(n * size);
    for (let b = 0; b < size; b++, start += n) {
      for (let i = 0, to = b; i < n; i++, to += size) ordered[to] = bytes[start + i];
    }
    byName[name] = size === 8 ? new Float64Array(ordered.buffer) : new Float32Array(ordered.buffer);
  });
  if (start !== bytes.length) throw new Error("the data of this page are corrupt");
  return byName;
}

// read decodes a report. Every run gets column(name), a view of its rounds.
async function read(text) {
  const report = JSON.parse(text);
  const columns = await unpack(report.columns, report.shown);
  report.columns = null;
  for (const run of report.runs) {
    run.column = (name) => columns[name].subarray(run.first, run.first + run.count);
  }
  // An experiment has times in seconds or in relative units.
  report.quantity = (name, experiment) => {
    const q = report.quantities.find((x) => x.name === name);
    const relative = (name === "time_s" || name === "energy_j") && report.experiments[experiment]?.relative;
    return relative ? { ...q, units: [{ name: "relative units", size: 1 }] } : q;
  };
  return report;
}
