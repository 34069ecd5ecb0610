// The page's state and what changes it: the metric, the colours, the hour, the zone, the layers, the time that passes.

import * as address from './address.js';
import * as api from './api.js';
import { byId, el, isStatic } from './dom.js';
import * as figures from './figures.js';
import * as flows from './flows.js';
import * as freshness from './freshness.js';
import * as key from './key.js';
import { list } from './listing.js';
import { Panes } from './panes.js';
import * as panel from './panel.js';
import * as plants from './plants.js';
import { colourOf, isDark, legend } from './scale.js';
import * as share from './share.js';
import * as signup from './signup.js';
import * as slider from './slider.js';
import * as theme from './theme.js';
import { absence, labelUnit, nameOf, quantity, rank, refusal, short, time } from './words.js';

const EVERY = 2 * 60 * 1000;
const AGAIN = 15 * 1000;
// Exact figures count as answers of the visitor's key: 96 a day at most for a tab left open.
const EXACT_EVERY = 15 * 60 * 1000;
// Net import has a natural zero, carbon intensity a natural scale; prices and sizes of zones differ too much.
const COLOURS = { price: 'rank', demand: 'rank', interchange: 'value', carbon: 'value' };

const FIRST = {
  metric: 'price', colours: null, zone: null, beside: null, span: '7d', from: null, to: null, block: null, panel: null, at: null, plants: null, flows: null,
};
const view = { ...FIRST, ...address.read() };
const data = { live: null, hours: null, lines: null, now: 0, zones: new Map(), figures: new Map(), filled: 0 };
const layers = { flows: null, plants: null };
// The `data-keep` of the button in the list that opened the panel; null where the map did.
let opener = null;
let asking = null;
// Counts what fills the panel or closes it: what began earlier draws nothing more.
let filling = 0;
const panes = new Panes((zone) => choose(zone), tip);
let timer = null;
let turn = 0;

const isAhead = () => view.at > data.now;
const missing = () => (isAhead() ? 'not known for that hour' : view.metric === 'carbon' ? absence('carbon') : 'not published');
// Of the hours ahead auctions have fixed prices alone. What operators expect is not ranked among readings.
const coloursOf = () => (isAhead() && view.metric !== 'price' ? 'value' : view.colours ?? COLOURS[view.metric]);

function tip(id) {
  const figure = data.figures.get(id);
  const zone = data.zones.get(id);
  return el('div', {}, el('strong', {}, zone.name),
    figure ? el('div', {}, `${nameOf(view.metric)} ${quantity(view.metric, figure)}`) : el('div', {}, `${nameOf(view.metric)} ${missing()}`),
    figure ? el('div', {}, rank(figure)) : null,
    figure ? el('div', { class: 'when' }, time(figure.ts, zone.tz)) : null);
}

/** Colours the map and fills the list with the figures of the chosen metric and hour. */
function paint() {
  if (!data.live) return;
  const { metric } = view;
  const colours = coloursOf();
  data.figures = new Map();
  for (const [id, zone] of data.zones) {
    const figure = view.at ? figures.ofHour(zone, data.hours, metric, view.at, data.now) : figures.newest(zone, metric);
    if (figure) data.figures.set(id, figure);
    panes.paint(id, {
      fill: colourOf(figure, metric, colours), dark: isDark(figure, metric, colours), text: figure ? short(metric, figure) : '', expected: Boolean(figure?.expected),
      said: figure ? `${zone.name}: ${nameOf(metric)} ${quantity(metric, figure)}, ${rank(figure)}` : `${zone.name}: ${nameOf(metric)} ${missing()}`,
    });
  }
  list(data.zones, metric, colours, data.figures, { now: data.now, missing: missing() }, choose);
  paintLegend(metric, colours);
  note();
  document.body.dataset.metric = metric;
}

function paintLegend(metric, colours) {
  const { gradient, ends } = legend(metric, colours);
  byId('ramp').style.background = gradient;
  for (const [i, id] of ['ramp-low', 'ramp-middle', 'ramp-high'].entries()) byId(id).textContent = ends[i];
  const what = colours === 'rank' ? 'each zone among its own last 30 days' : 'by value';
  const apart = colours === 'value' && metric === 'price' ? ' Colours compare zones of one currency only.' : '';
  byId('legend-text').textContent = `${nameOf(metric)}, ${what}.${apart}${basisOf(metric)} Labels: ${labelUnit(metric)}, rounded.`;
  for (const button of document.querySelectorAll('#colours button')) button.setAttribute('aria-pressed', String(button.value === colours));
  byId('colours').hidden = isAhead() && metric !== 'price';
  byId('none-text').textContent = isAhead() && colours === 'rank' ? 'none yet, or expected and so not ranked' :  `${view.metric === 'carbon' ? 'no value' : 'not published'}, or too little history`;
  byId('figures-head').textContent = view.at ? time(view.at, 'UTC') : 'Now';
}

/** Whose carbon intensities these are: those of operators and the estimates follow different definitions. */
function basisOf(metric) {
  if (metric !== 'carbon') return '';
  const published = [...data.figures].filter(([, figure]) => figure.basis === 'published').map(([id]) => id).sort();
  return ` ${published.length ? `Published by the operators of ${published.join(', ')}; e` : 'E'}stimated from the generation mix ${published.length ? 'elsewhere' : 'in all zones'}.`;
}

function note() {
  const { generated } = data.live;
  if (view.at && !data.hours) {
    byId('zones-note').textContent = 'The figures of that hour are not known yet.';
    return;
  }
  const hour = `of the hour from ${time(view.at ?? 0, 'UTC')}`;
  const parts = [!view.at ? `As of ${time(generated, 'UTC')}.` : isAhead() ? `${whatIsAhead()} ${hour}.` : `Means ${hour}.`];
  const known = [...data.figures.keys()];
  const without = data.zones.size - known.length;
  if (without && isAhead()) parts.push(`${without} of ${data.zones.size} zones have none for that hour.`);
  else if (without && known.length <= 3) parts.push(`${nameOf(view.metric)} is published here for ${known.length ? `${known.join(', ')} only` : 'no zone'}.`);
  else if (without) parts.push(`${without} of ${data.zones.size} zones ${metricless()}.`);
  const overdue = [...data.figures.values()].filter((figure) => figure.expectedBy && data.now > figure.expectedBy).length;
  if (overdue) parts.push(`${overdue} overdue (◷): newer figures should be out.`);
  byId('zones-note').textContent = parts.join(' ');
}

const metricless = () => (view.metric === 'carbon' ? 'have no value now' : 'publish no such figure here');

/** What the figures of an hour ahead are. */
function whatIsAhead() {
  const expected = [...data.figures.values()].filter((figure) => figure.expected).length;
  if (view.metric !== 'price') return `${nameOf(view.metric)} as operators expect it (dashed)`;
  return expected ? 'Prices that auctions have fixed, and those that operators expect (dashed)' : 'Prices that auctions have fixed';
}

/** Asks for the free documents and shows them; says what went wrong, and tries again by itself. */
async function refresh() {
  clearTimeout(timer);
  const asked = (turn += 1);
  let wait = AGAIN;
  try {
    const failed = [];
    const tried = (call) => call.catch((error) => { failed.push(error); return null; });
    const [live, status, hours] = await Promise.all([api.live(), tried(api.status()), view.at || data.hours ? tried(api.hours()) : null]);
    if (asked !== turn) return;
    data.live = live.body;
    data.now = status?.body.now ?? Math.max(data.now, live.body.generated);
    if (hours) data.hours = hours.body;
    show(live.body);
    if (status) freshness.show(status.body);
    else freshness.unknown();
    wait = failed.length ? waitOf(failed[0]) : EVERY;
    trouble(failed[0]);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    wait = waitOf(error);
    trouble(error);
  } finally {
    if (asked === turn) timer = setTimeout(refresh, wait);
  }
}

const waitOf = (error) => Math.max(AGAIN, (error.wait ?? 0) * 1000);

function trouble(error) {
  const banner = byId('trouble');
  banner.hidden = !error;
  banner.textContent = error ? refusal(error, Boolean(data.live)) : '';
  if (error && !data.live) byId('zones-note').textContent = 'No figures yet.';
}

function show(live) {
  const first = !data.zones.size;
  data.zones = new Map(live.features.map((feature) => [feature.id, feature.properties]));
  panes.drawZones(live);
  byId('attribution').textContent = live.attribution;
  share.credit(data.zones, live.attribution);
  byId('simulated').hidden = !live.simulated;
  keepHour();
  paint();
  if (first) {
    document.body.dataset.ready = 'true';
    performance.mark('ready');
    if (data.zones.has(view.zone)) choose(view.zone, false);
    else view.zone = null;
  } else if (view.zone) refill();
  drawFlows();
  if (view.plants) showPlants(true);
}

/** The open panel anew: its headline always, its charts when their figures may have changed. */
function refill() {
  showHeadline();
  if (!key.stored() || Date.now() - data.filled > EXACT_EVERY) fill();
}

function showHeadline() {
  if (view.zone) byId('headline')?.replaceChildren(panel.headline(data.zones.get(view.zone), view.metric, data.figures.get(view.zone), isAhead()));
}

async function fill() {
  data.filled = Date.now();
  const own = (filling += 1);
  const isCurrent = () => own === filling;
  const section = byId('panel');
  section.setAttribute('aria-busy', 'true');
  await panel.fill({ ...view }, data.zones, data.now, { ...actions, isCurrent });
  if (isCurrent()) section.setAttribute('aria-busy', 'false');
}

const actions = {
  close: () => choose(null),
  span: (span) => change({ span }),
  beside: (beside) => change({ beside }),
  dates: (days) => change(days),
  block: (block) => change({ block }),
  wide: () => { view.panel = view.panel === 'wide' ? null : 'wide'; widen(); change({}); },
  key: () => signup.open(true),
  forget: () => { key.store(null); fill(); },
};

/** The panel takes half of the window, or its own width. */
function widen() {
  document.body.classList.toggle('wide', view.panel === 'wide');
  document.querySelector('.wider')?.setAttribute('aria-pressed', String(view.panel === 'wide'));
}

function change(part) {
  Object.assign(view, part);
  remember();
  fill();
}

/** Shows a zone's panel beside the map; null shows all zones again. */
async function choose(id, withFocus = true, from = document.activeElement?.dataset.keep) {
  const before = view.zone;
  view.zone = id;
  panes.select(id);
  remember();
  byId('panel').hidden = id === null;
  document.body.classList.toggle('with-panel', id !== null);
  if (id === null) {
    filling += 1;
    if (before) goBack(before);
    return;
  }
  if (withFocus) opener = from ?? null;
  const figure = data.figures.get(id);
  byId('panel').replaceChildren(...panel.frame(view, data.zones, figure, actions));
  showHeadline();
  if (withFocus) byId('panel').focus({ preventScroll: true });
  byId('side').scrollTop = 0;
  byId('said').textContent = `${data.zones.get(id).name}. ${figure ? `${nameOf(view.metric)} ${quantity(view.metric, figure)}, ${rank(figure)}.` : ''}`;
  await fill();
}

/** Focus goes back to where the zone was opened from. */
function goBack(zone) {
  const button = opener && document.querySelector(`[data-keep="${opener}"]`);
  if (button) button.focus();
  else document.querySelector(`path[data-zone="${zone}"]`)?.focus({ preventScroll: true });
}

function remember() {
  const { metric, colours, zone, at, flows: flowLayer, plants: plantLayer } = view;
  const { beside, span, block, panel: width } = zone ? view : {};
  const { from, to } = span === 'dates' ? view : {};
  address.write({ metric, colours, zone, beside, span, from, to, block, panel: width, at, flows: flowLayer, plants: plantLayer });
  if (data.live) share.credit(data.zones, data.live.attribution);
}

async function drawFlows() {
  for (const [, layer] of layers.flows ?? []) layer.remove();
  layers.flows = null;
  const wanted = view.flows !== 'hidden' && !view.at;
  document.querySelector('.flows-key').hidden = !wanted;
  if (!wanted) return;
  data.lines ??= (await api.lines().catch(() => null))?.body.features ?? null;
  if (!data.lines || layers.flows || view.flows === 'hidden') return;
  layers.flows = flows.draw(data.lines, data.live.flows, panes, (zone) => data.zones.get(zone)?.tz ?? 'UTC');
  document.body.dataset.flows = 'drawn';
}

async function showPlants(wanted) {
  byId('fuels').hidden = !wanted;
  if (!wanted) {
    for (const [, layer] of layers.plants ?? []) layer.remove();
    return;
  }
  if (layers.plants) {
    for (const [map, layer] of layers.plants) layer.addTo(map);
    return;
  }
  const answer = await api.plants().catch((error) => { trouble(error); return null; });
  if (answer && !layers.plants && view.plants) layers.plants = plants.draw(answer.body, panes, byId('fuels'));
}

async function slide(at) {
  if (!data.live) return;
  view.at = at;
  slider.show(at);
  if (view.at && !data.hours) await loadHours();
  paint();
  remember();
  showHeadline();
  drawFlows();
}

/** The hours, asked for once however far the slider is drawn meanwhile. */
async function loadHours() {
  asking ??= api.hours().then(({ body }) => { data.hours = body; }, trouble).finally(() => { asking = null; });
  await asking;
}

/** The hour that is shown stays one that the slider has: of an address that is older, and while a page stands open. */
function keepHour() {
  slider.setNow(data.now);
  if (view.at) {
    view.at = slider.within(view.at);
    remember();
  }
  slider.show(view.at);
}

/** Another view stands in the address: typed, or by the back button. The link that skips the map leaves the view as it is. */
async function goTo() {
  if (location.hash === '#zones') {
    remember();
    return;
  }
  const before = view.zone;
  Object.assign(view, FIRST, address.read());
  showChoices();
  widen();
  if (!data.live) return;
  if (!data.zones.has(view.zone)) view.zone = null;
  await slide(view.at && slider.within(view.at));
  showPlants(Boolean(view.plants));
  if (view.zone || before) choose(view.zone, false);
}

/** The controls say what the view says. */
function showChoices() {
  document.querySelector(`input[name=metric][value=${view.metric}]`).checked = true;
  byId('show-flows').checked = view.flows !== 'hidden';
  byId('show-plants').checked = view.plants === 'shown';
}

function wire() {
  for (const radio of document.querySelectorAll('input[name=metric]')) {
    radio.addEventListener('change', () => {
      Object.assign(view, { metric: radio.value, colours: null });
      remember();
      paint();
      if (view.zone) choose(view.zone, false);
    });
  }
  showChoices();
  for (const button of document.querySelectorAll('#colours button')) {
    button.addEventListener('click', () => { view.colours = button.value; remember(); paint(); });
  }
  byId('show-flows').addEventListener('change', (event) => { view.flows = event.target.checked ? null : 'hidden'; remember(); drawFlows(); });
  byId('show-plants').addEventListener('change', (event) => {
    view.plants = event.target.checked ? 'shown' : null;
    remember();
    showPlants(event.target.checked);
  });
  byId('zones-csv').addEventListener('click', async () => {
    const { zonesCsv } = await api.part('download');
    zonesCsv(`emds-${view.metric}-all-zones${view.at ? `-${view.at}` : ''}`, view.metric, data.zones, data.figures);
  });
  slider.wire(slide);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && view.zone && !document.querySelector('dialog[open]')) choose(null);
  });
  // A tab in the background is not refreshed by browsers; it catches up when it comes to the front.
  document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
  window.addEventListener('online', refresh);
  window.addEventListener('unhandledrejection', (event) => {
    if (!(event.reason instanceof api.Refused)) return;
    event.preventDefault();
    trouble(event.reason);
  });
  window.addEventListener('popstate', goTo);
  window.addEventListener('emds-key', () => { if (view.zone) fill(); });
}

async function start() {
  theme.wire();
  widen();
  if (!isStatic) signup.wire();
  share.wire();
  wire();
  fetch(new URL('land.json', import.meta.url)).then((response) => response.json()).then((land) => panes.drawLand(land)).catch(() => null);
  await refresh();
}

start();
