'use strict';
const $ = id => document.getElementById(id);
const gallery = JSON.parse($('gallery').textContent);
const whole = $('wasm') !== null; // one file, which has the program, too
const patience = 100; // ms until a program that does not stop is ended

let worker, module, program; // a promise of what the program is, once it answers
let pending = new Map(), nextID = 0, checking = 0;
let running = null; // {id, started, text, timer} of the run under way
let linked = null; // {text, hash, numerics} of the link that was opened
let last = null; // {text, claim} of the last complete run

const editor = makeEditor($('editor'), { changed, complete: before => running ? null : ask({ op: 'complete', text: before }) });
const chart = makeChart($('chart'), $('legend'));
const say = text => { $('state').textContent = text; };
const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;
const seconds = s => s < 1.5 ? 'a second' : s < 90 ? `${Math.round(s)} s` : `${Math.round(s / 60)} minutes`;
function state(name) { document.body.dataset.state = name; }
function element(name, text, properties) {
  const e = Object.assign(document.createElement(name), properties);
  if (text !== undefined) e.textContent = text;
  return e;
}

// The program, in a worker of its own.
function spawn() {
  const own = worker = whole
    ? new Worker(URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }))) : new Worker('worker.js');
  program = new Promise(ready => { own.onmessage = ({ data }) => { if (worker === own) hear(data, ready); }; });
  own.onerror = e => { if (worker === own) hear({ died: e.message || 'the worker cannot be read' }); };
  own.postMessage({ start: module ? { module } : whole ? { packed: $('wasm').textContent } : {} });
}
function hear(data, ready) {
  if (data.died !== undefined) return died(data.died);
  if (data.ready) { module = data.module; ready(); return; }
  if (data.tell) { if (running?.id === data.id) progress(data.tell); return; }
  pending.get(data.id)?.(data); pending.delete(data.id);
}
function died(why) {
  console.log(why);
  const memory = /out of memory|cannot allocate/.test(why);
  over(`The program ended: ${memory ? 'it needs more memory than a page has: save the scenario, and run it with fedsim run scenario.toml'
    : why.trim().split('\n').slice(0, 2).join(' ').slice(0, 300)}`, 'failed');
  if (module) restart();
}
function restart() { // the program anew
  worker.terminate(); pending = new Map(); spawn();
}
function post(request) {
  const id = ++nextID;
  const answered = new Promise(done => pending.set(id, done));
  program.then(() => worker.postMessage({ id, request }));
  return { id, answered };
}
const ask = async request => (await post(request).answered).answer;

// The scenario.
let soon;
function changed() {
  clearTimeout(soon);
  $('shared').textContent = ''; $('problems').replaceChildren(); $('check').textContent = '…';
  soon = setTimeout(check, 200);
}
async function check() {
  if (running) return;
  const own = ++checking, text = editor.text;
  const c = await ask({ op: 'check', text });
  if (own !== checking || running || text !== editor.text) return;
  show(c);
}
function show(c) { // what a check has found
  const wrong = c.problems ?? [];
  editor.mark(wrong);
  $('problems').replaceChildren(...wrong.slice(0, 20).map(p => {
    const item = element('li'), place = p.line > 0 ? `line ${p.line}: ` : '';
    item.append(element('button', place + p.text, { onclick: () => editor.go(p) }));
    return item;
  }));
  $('run').disabled = wrong.length > 0 || !!c.refused || !!running;
  const runs = c.runs ? plural(c.runs, 'run') : 'runs until the order is certain';
  $('check').textContent = wrong.length ? plural(wrong.length, 'error') + ':' : c.refused ? `This scenario ${c.refused}`
    : [runs + (c.seconds ? `, about ${seconds(c.seconds)} here` : ''), ...c.notes ?? []].join('. ') + '.';
  $('check').className = c.refused ? 'other' : '';
}
function choose() {
  const g = gallery.find(g => g.name === $('which').value);
  if (!g) return;
  linked = null;
  history.replaceState(null, '', location.pathname + location.search + (g === gallery[0] ? '' : '#' + g.name));
  $('about').textContent = g.description + '.';
  editor.text = g.text;
}

// A run.
async function run() {
  if (running || $('run').disabled) return;
  const text = editor.text, { id, answered } = post({ op: 'run', text });
  running = { id, text, started: performance.now() };
  last = null; checking++;
  state('running'); say('Preparing …');
  delete document.body.dataset.hash;
  $('run').disabled = true; $('cancel').disabled = false; $('bar').value = 0; $('zip').hidden = true;
  for (const part of ['figures', 'summary', 'hash']) $(part).replaceChildren();
  chart.clear(); $('live').hidden = true;
  const { answer } = await answered;
  if (running?.id === id) finished(answer, text);
}
function progress(m) {
  if (m.stopped) { clearTimeout(running.timer); return; }
  $('bar').value = m.share;
  const past = (performance.now() - running.started) / 1000, left = m.share > 0.05 ? past / m.share - past : 0;
  say(m.phase === 'preparing' ? 'Preparing …'
    : `${m.phase === 'tuning' ? 'Tuning' : 'Running'}: ${m.done} of ${plural(m.total, 'run')}${left > 1.5 ? `, about ${seconds(left)} left` : ''}`);
  if (m.curves) { $('live').hidden = false; chart.add(m.curves); }
}
// over ends the state of a run.
function over(text, how) {
  clearTimeout(running?.timer);
  running = null;
  state(how); say(text);
  $('cancel').disabled = true;
  check();
}
async function finished(o, text) {
  const took = ((performance.now() - running.started) / 1000).toFixed(1);
  if (o.problems || o.refused) { over(o.refused ?? o.problems[0].text, 'failed'); show(o); return; }
  for (const f of o.figures ?? []) $('figures').append(figure(f));
  if (o.figures?.length) $('live').hidden = true;
  $('summary').replaceChildren(...(o.summary ?? []).flatMap(part));
  over(o.canceled ? `Canceled after ${took} s: ${plural(o.ended, 'run')} of ${o.runs} had ended.`
    : `${plural(o.ended, 'run')} in ${took} s, with ${Math.round(o.memory / 1e6)} MB.`, o.canceled ? 'canceled' : 'done');
  if (!o.state) return;
  $('zip').hidden = false;
  if (!o.claim) return;
  last = { text, claim: o.claim };
  document.body.dataset.hash = o.hash;
  $('hash').replaceChildren('Result hash ', element('code', o.hash), ' ');
  if (linked?.hash && linked.text === text) $('hash').append(compared(o));
}
function compared(o) {
  const same = linked.hash === o.hash;
  if (same) return element('span', 'the same as that of the link or file: the same bits.', { className: 'same' });
  const why = linked.numerics === o.numerics ? 'the same numeric version'
    : `numeric version ${linked.numerics}, and this program has ${o.numerics}: their bits differ`;
  return element('span', `differs from that of the link or file, ${linked.hash} (${why}).`, { className: 'other' });
}
function part({ title, cells, notes }) {
  const list = title ? [element('h3', title)] : [];
  if (cells) {
    const frame = element('div', undefined, { className: 'wide', tabIndex: 0 }), table = frame.appendChild(element('table'));
    const head = table.createTHead().insertRow();
    for (const cell of cells[0]) head.append(element('th', cell, { scope: 'col' }));
    const body = table.createTBody();
    for (const row of cells.slice(1)) {
      const line = body.insertRow();
      row.forEach((cell, i) => line.append(element(i ? 'td' : 'th', cell, i ? {} : { scope: 'row' })));
    }
    list.push(frame);
  }
  return [...list, ...(notes ?? []).map(n => element('p', n))];
}
function figure({ name, svg }) {
  const f = element('figure'), caption = element('figcaption', name.replace(/\.svg$/, ''));
  const blob = new Blob([svg], { type: 'image/svg+xml' });
  const image = element('img', undefined, { alt: `Figure ${name}`, src: URL.createObjectURL(blob) });
  caption.append(element('button', 'SVG', { onclick: () => save(blob, name) }),
    element('button', 'PNG', { onclick: async () => save(await png(image), name.replace(/svg$/, 'png')) }));
  f.append(image, caption);
  return f;
}
function png(image) { // at 300 dots per inch: a pixel of the page is 1/96 inch
  const canvas = element('canvas', undefined, { width: image.naturalWidth * 3.125, height: image.naturalHeight * 3.125 });
  const c = canvas.getContext('2d');
  c.fillStyle = '#fff'; c.fillRect(0, 0, canvas.width, canvas.height);
  c.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, 'image/png'));
}
function cancel() {
  if (!running || running.timer) return;
  worker.postMessage({ id: 0, request: { op: 'cancel' } });
  const ran = running;
  running.timer = setTimeout(() => { // within the mathematics of a round, or of a reference optimum, it hears nothing
    if (running !== ran) return;
    restart();
    over('Canceled.', 'canceled');
  }, patience);
}

function save(blob, name) {
  const link = element('a', undefined, { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
async function share() {
  const text = editor.text;
  const fragment = last?.text === text ? last.claim : await ask({ op: 'share', text });
  history.replaceState(null, '', '#' + fragment);
  const with_ = last?.text === text ? 'with the result hash' : 'without results: run the scenario first to have its hash in the link';
  let where = 'The link is in the address bar';
  try { await navigator.clipboard.writeText(location.href); where = 'The link is copied'; } catch { /* not allowed */ }
  $('shared').textContent = `${where}, ${with_}.`;
}
function take(found, from) { // a scenario from elsewhere, maybe with the hash of its results
  if (found.error) {
    editor.text = ''; $('check').textContent = '';
    say(`${from} cannot be read: ${found.error}.`);
    return false;
  }
  linked = found;
  editor.text = found.text;
  $('which').selectedIndex = -1;
  $('about').textContent = found.hash ? `${from} has results with the hash ${found.hash}. Run it to compare.` : `${from} has no results.`;
  return true;
}
async function openFile() {
  const [file] = $('file').files;
  $('file').value = '';
  if (!file || running) return;
  if (file.size > 2e8) { say(`${file.name} has ${file.size} bytes: a report or a figure has at most 200,000,000.`); return; }
  const found = await ask({ op: 'file', text: await file.text() });
  if (found.text?.length > 1 << 20) found.error = 'it is neither a scenario, nor a report or a figure of complete runs';
  history.replaceState(null, '', location.pathname + location.search);
  if (take(found, file.name)) { state('ready'); say('Press Run (Ctrl+Enter).'); }
}
async function open() { // what the address asks for
  const fragment = location.hash.slice(1);
  const g = gallery.find(g => g.name === decoded(fragment)) ?? (fragment ? null : gallery[0]);
  if (g) {
    $('which').value = g.name; choose();
    return g === gallery[0];
  }
  $('which').selectedIndex = -1; $('about').textContent = '';
  say('Reading the link …');
  const shipped = /^[a-z0-9-]+$/.test(fragment) ? await ask({ op: 'source', text: fragment }) : {};
  if (shipped.text) { editor.text = shipped.text; return false; }
  take(await ask({ op: 'link', text: fragment }), 'The link');
  return false;
}
function decoded(fragment) { try { return decodeURIComponent(fragment); } catch { return fragment; } }

async function begin() {
  for (const g of gallery) $('which').add(new Option(`${g.name}: ${g.description}`, g.name));
  spawn();
  const first = await open(), linkError = $('state').textContent;
  await program;
  const { version, numerics } = await ask({ op: 'about' });
  $('version').textContent = `fedsim ${version}, numeric version ${numerics}.`;
  if (!first && /^The link/.test(linkError)) state('failed');
  else { state('ready'); say('Press Run (Ctrl+Enter).'); }
  clearTimeout(soon);
  if (editor.text) await check();
  if (first) run();
}
$('run').onclick = run; $('cancel').onclick = cancel; $('share').onclick = share; $('which').onchange = choose;
$('save').onclick = () => save(new Blob([editor.text], { type: 'application/toml' }), 'scenario.toml');
$('open').onclick = () => $('file').click(); $('file').onchange = openFile;
$('zip').onclick = async () => {
  const { answer, content } = await post({ op: 'zip' }).answered;
  if (content) save(new Blob([content], { type: 'application/zip' }), 'fedsim-run.zip'); else say(answer.error);
};
addEventListener('hashchange', async () => {
  if (running) return;
  await open();
  if (!/^The link/.test($('state').textContent)) say('Press Run (Ctrl+Enter).');
});
addEventListener('keydown', e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); } });
if (!whole && 'serviceWorker' in navigator) navigator.serviceWorker.register('sw.js').catch(e => console.log(String(e)));
begin();
