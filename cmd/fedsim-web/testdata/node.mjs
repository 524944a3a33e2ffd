// Runs a scenario in Node with the program and the files in memory of the page: node node.mjs FOLDER SCENARIO DIR [KEY=VALUE]...
// FOLDER has the page; DIR receives the run directory. With the request of another operation in place of SCENARIO, it
// prints the answer: '{"op": "check", "text": "..."}'.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import vm from 'node:vm';

const [folder, scenario, dir, ...sets] = process.argv.slice(2);
const { exit, stdout } = process; // memfs has another process
const packed = readFileSync(join(folder, 'fedsim.wasm.gz'));
const request = scenario.startsWith('{') ? JSON.parse(scenario) : { op: 'run', text: readFileSync(scenario, 'utf8'), sets };
globalThis.postMessage = () => {};
vm.runInThisContext(readFileSync(join(folder, 'worker.js'), 'utf8').replace(/'use strict';\n\/\/ The worker[^]*/, ''));
const go = new Go();
go.env = { HOME: '/' };
const began = new Promise(done => { globalThis.fedsimReady = done; });
const { instance } = await WebAssembly.instantiate(gunzipSync(packed), go.importObject);
go.run(instance).catch(e => { console.error(e, memfs.printed()); exit(1); });
await began;
const started = performance.now();
fedsim(JSON.stringify(request), () => {}, text => {
  const answer = JSON.parse(text);
  if (request.op !== 'run') { stdout.write(text + '\n', () => exit(0)); return; }
  if (answer.problems || answer.refused) { console.error(answer.refused ?? answer.problems); exit(1); }
  if (dir) memfs.each('/run', (name, bytes) => {
    mkdirSync(join(dir, dirname(name)), { recursive: true });
    writeFileSync(join(dir, name), bytes);
  });
  stdout.write(`${answer.hash} ${((performance.now() - started) / 1000).toFixed(1)} s\n`, () => exit(0));
});
