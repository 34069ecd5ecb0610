// Adds examples in one language at a time, copying, search, the menu of small screens, and requests with your own key. The
// page can be read without it. A typed key is kept only in memory; a key that the map stored in this browser is used here
// too. Keys are sent only to this service.
'use strict';
const root = document.documentElement;
const all = (what, within = document) => [...within.querySelectorAll(what)];
const make = (name, attributes = {}, ...inner) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inner);
  return made;
};
const said = document.getElementById('said');
const SHOWN = 20000;
let key = keyOfMap();

function keyOfMap() {
  try {
    return localStorage.getItem('emds-key') ?? '';
  } catch { // the browser stores nothing
    return '';
  }
}

// Shows examples in one language.
const languages = new Set(all('[data-language]').map((one) => one.dataset.language));
function speak(chosen) {
  for (const samples of all('.samples')) {
    const own = all('[data-language]', samples);
    const shown = own.some((one) => one.dataset.language === chosen) ? chosen : 'curl';
    for (const one of own) one.hidden = one.dataset.language !== shown;
    for (const tab of all('.tabs button', samples)) tab.setAttribute('aria-pressed', tab.value === shown);
  }
}
for (const samples of all('.samples')) {
  const tabs = make('div', { class: 'tabs', role: 'group', 'aria-label': 'Language' });
  for (const value of languages) {
    if (!samples.querySelector(`[data-language="${value}"]`)) continue;
    const tab = make('button', { type: 'button', value }, value);
    tab.addEventListener('click', () => speak(value));
    tabs.append(tab);
  }
  const copy = make('button', { type: 'button', class: 'copy' }, 'Copy');
  copy.addEventListener('click', async () => {
    const text = all('[data-language]', samples).find((one) => !one.hidden).querySelector('pre').textContent;
    const done = await copied(text);
    said.textContent = done ? 'Copied.' : 'The browser did not allow the page to copy.';
    copy.textContent = done ? 'Copied' : 'Not copied';
    setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
  });
  tabs.append(copy);
  samples.prepend(tabs);
}
root.classList.add('scripted');
speak('curl');

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // pages that are not served over https have no clipboard
    const area = make('textarea', { 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

// Searches operations and schemas.
const search = document.getElementById('search');
const found = document.getElementById('found');
const entries = all('section[data-words]');
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const entry of entries) {
    entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
    count += !entry.hidden;
    for (const link of all(`nav a[href="#${entry.id}"]`)) link.hidden = entry.hidden;
  }
  for (const group of all('.group')) group.hidden = !group.querySelector('section[data-words]:not([hidden])');
  for (const group of all('details.group')) group.open = words.length > 0;
  for (const part of all('nav [data-part]')) part.hidden = !part.querySelector('a:not([hidden])');
  found.textContent = words.length ? `${count} found` : '';
  if (words.length) found.scrollIntoView();
});

// Opens the menu of small screens.
const menu = document.getElementById('menu');
const list = document.getElementById('list');
function open(wanted) {
  list.classList.toggle('open', wanted);
  menu.setAttribute('aria-expanded', wanted);
}
menu.addEventListener('click', () => open(menu.getAttribute('aria-expanded') !== 'true'));
list.addEventListener('click', (event) => { if (event.target.closest('a')) open(false); });
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || menu.getAttribute('aria-expanded') !== 'true') return;
  open(false);
  menu.focus();
});

// Opens the target of a link.
function named() {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch { // the encoding is invalid
    return null;
  }
}
function unfold() {
  const target = named();
  if (!target) return;
  target.hidden = false;
  for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  // The URL of a format or of an older path is in the entry of its resource.
  const own = target.closest('section')?.querySelector('details');
  if (own) own.open = true;
  target.scrollIntoView();
}
addEventListener('hashchange', unfold);
unfold();
document.addEventListener('click', (event) => { // a second click does not change the hash
  const link = event.target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) unfold();
});

// Sends your requests.
document.getElementById('key').value = key;
document.getElementById('key').addEventListener('input', (event) => {
  key = event.target.value.trim();
  for (const field of all('.try[data-paid] [name=sample]')) sampled(field);
});
// Without a key, a paid path returns a sample instead of a 402.
const sampled = (field) => { field.value = key ? '' : 'true'; };
document.getElementById('own').addEventListener('submit', (event) => { event.preventDefault(); });
for (const operation of all('details.operation')) {
  operation.addEventListener('toggle', () => operation.open && prepare(operation));
}
function prepare(operation) {
  const place = operation.querySelector('.try');
  if (place.childElementCount) return;
  const { method, path, body } = place.dataset;
  const form = make('form', { 'aria-label': `Try ${method} ${path}` });
  const fields = all('tr[data-name]', operation).map((row) => {
    const { name, place: where, given } = row.dataset;
    const id = `${place.dataset.id}-${where}-${name}`;
    const words = row.hasAttribute('data-enum') ? all('td:nth-child(2) code', row).map((one) => one.textContent) : [];
    const field = make(words.length ? 'select' : 'input', { id, autocomplete: 'off', spellcheck: 'false' });
    if (words.length) {
      if (where === 'query') field.append(make('option', { value: '' }, '(not given)'));
      for (const word of words) field.append(make('option', {}, word));
    }
    if (given !== undefined && (where === 'path' || !words.length)) {
      if (where === 'path') field.value = given; else field.placeholder = given;
    }
    if (where === 'path') field.required = true;
    if (name === 'sample' && 'paid' in place.dataset) {
      field.name = name;
      sampled(field);
    }
    form.append(make('label', { for: id }, make('code', {}, name), field));
    return { name, where, field };
  });
  let text = null;
  if (body) {
    text = make('textarea', { rows: 5, id: `${place.dataset.id}-body`, spellcheck: 'false' });
    text.value = body;
    form.append(make('label', { for: text.id, class: 'wide' }, 'Body', text));
  }
  const send = make('button', { type: 'submit' }, method === 'GET' ? 'Call' : `Call ${method}`);
  const line = make('p', { role: 'status', class: 'soft' });
  const answer = make('pre', { tabindex: '0', hidden: '', 'aria-label': 'Response', role: 'region' });
  form.append(send);
  place.append(make('h4', {}, 'Try it'), form, line, answer);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    let address = path;
    const query = new URLSearchParams();
    for (const { name, where, field } of fields) {
      if (where === 'path') address = address.replace(`{${name}}`, encodeURIComponent(field.value));
      else if (field.value) query.set(name, field.value);
    }
    const url = address + (query.size ? `?${query}` : '');
    const headers = {};
    if (key) headers.Authorization = `Bearer ${key}`;
    if (text) headers['Content-Type'] = 'application/json';
    line.textContent = `${method} ${url} ...`;
    answer.hidden = true;
    try {
      const given = await fetch(url, { method, headers, body: text ? text.value : undefined, cache: 'no-store' });
      const bytes = await given.arrayBuffer();
      const media = given.headers.get('Content-Type') || '';
      const left = given.headers.get('RateLimit');
      line.textContent = `${method} ${url}: ${given.status}, ${media || 'no body'}, ${bytes.byteLength} bytes`
        + (left ? `, RateLimit ${left}` : '');
      answer.textContent = readable(media, bytes);
      answer.hidden = !bytes.byteLength;
    } catch {
      line.textContent = `${method} ${url}: the service cannot be reached.`;
    }
  });
}
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch { // incomplete or empty JSON
    return text;
  }
}
function readable(media, bytes) {
  if (!/json|text/.test(media)) return 'Not text: save it with one of the examples above.';
  let text = new TextDecoder().decode(bytes);
  if (/json/.test(media)) text = indented(text);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}\n... cut after ${SHOWN} of ${text.length} characters` : text;
}
