// Shows how to use a zone's data in other tools: a request or a file for each, with the zone filled in.

import * as api from './api.js';
import { copied } from './clipboard.js';
import { el } from './dom.js';

const KEY = 'emds_yourkey';
const EXAMPLES = { home: 'home-assistant.yaml', evcc: 'evcc.yaml' };
const TOOLS = { web: 'Website', curl: 'curl', python: 'Python', r: 'R', sheet: 'Spreadsheet', home: 'Home Assistant', evcc: 'evcc' };

const calls = {
  web: (_, zone, metric) => `<img src="${api.address(`embed/${zone.id}.${metric === 'interchange' ? 'price' : metric}.svg`)}"\n  alt="Electricity in ${zone.name}" width="480">`,
  curl: (url) => `curl '${url}' \\\n  -H 'Authorization: Bearer ${KEY}'`,
  python: (url) => `import pandas\n\nrows = pandas.read_csv(\n    "${url}&format=csv&time=utc",\n    storage_options={"Authorization": "Bearer ${KEY}"},\n    parse_dates=["time"],\n)`,
  r: (url) => `rows <- read.csv(url("${url}&format=csv&time=utc",\n  headers = c(Authorization = "Bearer ${KEY}")))`,
  sheet: (url) => `// Excel: Data, Get Data, Blank Query, Advanced Editor\nlet\n  body = Web.Contents("${url}&format=csv&time=utc",\n    [Headers = [Authorization = "Bearer ${KEY}"]])\nin\n  Table.PromoteHeaders(Csv.Document(body))`,
};

/** Returns an example of the docs with the URL of this service, the zone and its currency filled in. */
async function example(name, zone) {
  const text = await api.text(`docs/examples/${name}`);
  return text.replaceAll(/\w+:\/{2}emds\.example/g, api.address('').replace(/\/$/, '')).replaceAll('DE-LU', zone.id).replaceAll('EUR', zone.currency);
}

/** Fills the box of a zone's panel. */
export function fill(place, zone, metric) {
  const url = `${api.seriesAddress(metric, zone.id)}?start=-7d`;
  const code = el('code');
  const note = el('span', { class: 'note' });
  const buttons = Object.entries(TOOLS).map(([tool, name]) => el('button', { type: 'button', class: 'quiet', 'aria-pressed': 'false', on: { click: () => show(tool) } }, name));
  async function show(tool) {
    for (const [i, name] of Object.keys(TOOLS).entries()) buttons[i].setAttribute('aria-pressed', String(name === tool));
    code.textContent = EXAMPLES[tool] ? await example(EXAMPLES[tool], zone).catch(() => 'The example could not be loaded. Try again.') : calls[tool](url, zone, metric);
    note.textContent = EXAMPLES[tool] && ['GB', 'AU'].includes(zone.country) ? 'This service has no day-ahead prices for this zone.' : '';
  }
  const copy = el('button', { type: 'button', class: 'quiet small' }, 'Copy');
  copy.addEventListener('click', async () => {
    copy.textContent = (await copied(code.textContent, copy.parentElement)) ? 'Copied' : 'Not copied';
    setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
  });
  show('curl');
  place.append(
    el('div', { class: 'spans wrap', role: 'group', 'aria-label': 'Tool' }, buttons),
    el('pre', { tabindex: '0', role: 'region', 'aria-label': 'Example' }, code), copy, ' ', note);
}
