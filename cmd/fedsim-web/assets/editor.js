'use strict';
// An editor of TOML: a textarea, over the same text in color, beside its line numbers.
function makeEditor(root, { changed, complete }) {
  const make = (name, into, properties) => into.appendChild(Object.assign(document.createElement(name), properties));
  const lineHeight = 19, edge = 6, most = 60000; // pixels, pixels; a longer text has no colors
  const gutter = make('div', root, { className: 'gutter', ariaHidden: 'true' });
  const numbers = make('pre', gutter, {});
  const field = make('div', root, { className: 'field' });
  const back = make('pre', field, { ariaHidden: 'true' });
  const area = make('textarea', field, { spellcheck: false, wrap: 'off', ariaLabel: 'Text of the scenario, TOML' });
  area.setAttribute('autocapitalize', 'off'); area.setAttribute('autocomplete', 'off');
  area.setAttribute('aria-controls', 'offers'); area.setAttribute('aria-autocomplete', 'list');
  const popup = make('div', root, { className: 'offers', hidden: true });
  const list = make('ul', popup, { id: 'offers', ariaLabel: 'Completions' }); list.setAttribute('role', 'listbox');
  const doc = make('p', popup, {});
  let problems = [], offers = null, chosen = 0, asked = 0;

  const token = /(#.*)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)|(?<=^[ \t]*)(\[\[?[^\]\n]*\]?\]?)|([A-Za-z0-9_-]+(?:\s*\.\s*[A-Za-z0-9_"-]+)*)(?=\s*=)|\b(true|false|inf|nan|[+-]?[0-9][0-9_.eE+-]*)\b/gm;
  const kinds = ['', 't-comment', 't-text', 't-head', 't-key', 't-number'];
  const bytes = new TextEncoder(), chars = new TextDecoder();

  // wrong returns the ranges of the text that are wrong, in order.
  function wrong(text) {
    const lines = text.split('\n'), starts = [];
    lines.reduce((at, line, i) => { starts[i] = at; return at + line.length + 1; }, 0);
    return problems.filter(p => p.line >= 1 && p.line <= lines.length).map(p => {
      const line = lines[p.line - 1];
      const from = Math.min(chars.decode(bytes.encode(line).subarray(0, Math.max(p.column - 1, 0))).length, line.length);
      const rest = /^("[^"]*"?|\[[^\]]*\]?|[^\s,}#]+)/.exec(line.slice(from));
      return [starts[p.line - 1] + from, starts[p.line - 1] + from + Math.max(rest ? rest[0].length : 0, 1)];
    }).sort((a, b) => a[0] - b[0]);
  }

  function paint() {
    const text = area.value, plain = text.length > most, count = text.split('\n').length;
    numbers.textContent = plain ? '' : Array.from({ length: count }, (_, i) => i + 1).join('\n');
    for (const mark of gutter.querySelectorAll('i')) mark.remove();
    for (const line of new Set(problems.map(p => p.line))) {
      if (line < 1) continue;
      const mark = make('i', gutter, { title: problems.filter(p => p.line === line).map(p => p.text).join('\n') });
      mark.style.top = `${edge + (line - 1) * lineHeight}px`;
    }
    area.classList.toggle('plain', plain);
    const pieces = [], marks = plain ? [] : wrong(text);
    const put = (from, to, kind) => { // a piece of one kind, cut where errors begin and end
      for (const [a, b] of [...marks, [to, to]]) {
        if (b <= from || a >= to && a !== b) continue;
        for (const [end, bad] of [[Math.min(a, to), ''], [Math.min(b, to), ' t-wrong']]) {
          if (end <= from) continue;
          const span = document.createElement('span');
          span.className = kind + bad; span.textContent = text.slice(from, end);
          pieces.push(span); from = end;
        }
      }
    };
    if (!plain) {
      let at = 0;
      for (const m of text.matchAll(token)) {
        put(at, m.index, '');
        put(m.index, at = m.index + m[0].length, kinds[m.findIndex((v, i) => i > 0 && v !== undefined)]);
      }
      put(at, text.length, '');
      pieces.push('\n');
    }
    back.replaceChildren(...pieces);
    scroll();
  }
  function scroll() {
    back.scrollTop = gutter.scrollTop = area.scrollTop; back.scrollLeft = area.scrollLeft;
  }

  function close() { offers = null; popup.hidden = true; area.removeAttribute('aria-activedescendant'); }
  async function open(always) {
    const at = area.selectionStart, before = area.value.slice(0, at), own = ++asked;
    if (at !== area.selectionEnd || !always && !/[\w."[-]$/.test(before)) return close();
    if (/#/.test(before.slice(before.lastIndexOf('\n') + 1).replace(/"[^"]*"?/g, ''))) return close();
    const found = await complete(before);
    if (own !== asked || area.selectionStart !== at || document.activeElement !== area) return;
    if (!found || !found.list || !found.list.length) return close();
    offers = found; chosen = 0;
    list.replaceChildren(...found.list.map((o, i) => {
      const item = document.createElement('li');
      item.id = `offer-${i}`; item.textContent = o.text; item.setAttribute('role', 'option');
      item.onpointerdown = e => { e.preventDefault(); chosen = i; accept(); };
      return item;
    }));
    popup.hidden = false;
    const column = before.length - before.lastIndexOf('\n') - 1 - found.word.length, line = before.split('\n').length;
    const width = parseFloat(getComputedStyle(area).fontSize) * 0.6;
    const x = gutter.offsetWidth + 8 + column * width - area.scrollLeft, y = edge + line * lineHeight - area.scrollTop;
    popup.style.left = `${Math.max(4, Math.min(x, root.clientWidth - popup.offsetWidth - 6))}px`;
    const above = y + popup.offsetHeight > root.clientHeight && y > popup.offsetHeight + lineHeight;
    popup.style.top = `${above ? y - lineHeight - popup.offsetHeight : Math.min(y, root.clientHeight - 40)}px`;
    select(0);
  }
  function select(i) {
    chosen = (i + offers.list.length) % offers.list.length;
    [...list.children].forEach((item, k) => item.setAttribute('aria-selected', k === chosen));
    list.children[chosen].scrollIntoView({ block: 'nearest' });
    area.setAttribute('aria-activedescendant', `offer-${chosen}`);
    doc.textContent = offers.list[chosen].doc; doc.hidden = !doc.textContent;
  }
  function insert(text, from, to) { // so that it can be undone
    area.focus(); area.setSelectionRange(from, to);
    if (!document.execCommand('insertText', false, text)) { area.setRangeText(text, from, to, 'end'); edited(); }
  }
  function accept() {
    const o = offers.list[chosen], at = area.selectionStart, word = offers.word;
    close(); insert(o.text, at - word.length, at);
    if (o.text.endsWith(' = ')) open(true);
  }

  function edited() { problems = []; paint(); changed(); }
  area.addEventListener('input', e => {
    edited();
    if (/^(insertText|deleteContent)/.test(e.inputType) && (offers || e.data)) open(false); else close();
  });
  area.addEventListener('scroll', () => { scroll(); close(); });
  area.addEventListener('blur', close);
  area.addEventListener('keydown', e => {
    if (e.key === ' ' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); open(true); return; }
    if (!offers || e.ctrlKey || e.metaKey || e.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key];
    if (step) select(chosen + step);
    else if (e.key === 'Enter' || e.key === 'Tab') accept();
    else if (e.key === 'Escape') close();
    else { if (/^(Arrow|Home|End)/.test(e.key)) close(); return; }
    e.preventDefault();
  });
  return {
    get text() { return area.value; },
    set text(t) { area.value = t; area.scrollTop = area.scrollLeft = 0; problems = []; close(); paint(); changed(); },
    mark(list) { problems = list; paint(); },
    go(p) { // to the place of a problem
      const lines = area.value.split('\n').slice(0, Math.max(p.line - 1, 0));
      const at = lines.reduce((n, l) => n + l.length + 1, 0) + Math.max(p.column - 1, 0);
      area.focus(); area.setSelectionRange(at, at);
      area.scrollTop = Math.max(0, (p.line - 4) * lineHeight);
    },
  };
}
