'use strict';
// The worker of the page: the files of memfs.js and of Go's wasm_exec.js come before.
async function compiled({ module, packed }) {
  if (module) return module;
  const from = packed ? new Blob([Uint8Array.from(atob(packed), c => c.charCodeAt(0))]).stream() : await fetched();
  return WebAssembly.compileStreaming(new Response(from.pipeThrough(new DecompressionStream('gzip')),
    { headers: { 'Content-Type': 'application/wasm' } })); // any server will do: the worker unpacks the file
}
async function fetched() {
  const answer = await fetch('fedsim.wasm.gz');
  if (!answer.ok) throw new Error(`fedsim.wasm.gz: ${answer.status} ${answer.statusText}`);
  return answer.body;
}
async function start(from) {
  const module = await compiled(from), go = new Go();
  go.env = { HOME: '/' };
  const began = new Promise(done => { globalThis.fedsimReady = done; });
  const died = why => postMessage({ died: `${why}\n${memfs.printed()}` });
  go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => died('the program ended'), died);
  await began;
  postMessage({ ready: true, module });
}
onmessage = ({ data: { start: from, id, request } }) => {
  if (from) { start(from).catch(e => postMessage({ died: String(e) })); return; }
  if (request.op === 'run') memfs.clear('/run');
  fedsim(JSON.stringify(request), text => postMessage({ id, tell: JSON.parse(text) }),
    (text, content) => postMessage({ id, answer: JSON.parse(text), content }, content ? [content.buffer] : []));
};
