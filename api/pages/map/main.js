// Holds the page's state and changes it: metric, colours, hour, zone, order of the list, layers, and time.

import * as address from './address.js';
import * as api from './api.js';
import { byId, el, isStatic } from './dom.js';
import * as figures from './figures.js';
import * as flows from './flows.js';
import * as freshness from './freshness.js';
import * as key from './key.js';
import { list, nextSort } from './listing.js';
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
// Exact values are charged to the visitor's key: at most 96 requests per day for an open tab.
const EXACT_EVERY = 15 * 60 * 1000;
// Net import has a natural zero and carbon intensity a natural scale. Prices and sizes of zones differ too much.
const COLOURS = { price: 'rank', demand: 'rank', interchange: 'value', carbon: 'value' };

const FIRST = {
  metric: 'price', colours: null, zone: null, beside: null, span: '7d', from: null, to: null, block: null, sort: null, panel: null, at: null, plants: null, flows: null,
};
const view = { ...FIRST, ...address.read() };
const data = { live: null, hours: null, lines: null, now: 0, zones: new Map(), figures: new Map(), filled: 0 };
const layers = { flows: null, plants: null };
// The `data-keep` of the button in the list that opened the panel; null if the map did.
let opener = null;
let asking = null;
// Counts fillings and closings of the panel, so that an earlier filling draws nothing more.
let filling = 0;
const panes = new Panes((zone) => choose(zone), tip);
let timer = null;
let turn = 0;

const isAhead = () => view.at > data.now;
const missing = (zone) => absence(zone, view.metric, view.at);
// Only prices have a rank in the hours ahead: operators' forecasts are not ranked among actual values.
const clock = () => data.zones.get(view.zone)?.tz ?? 'UTC';
const coloursOf = () => (isAhead() && view.metric !== 'price' ? 'value' : view.colours ?? COLOURS[view.metric]);

function tip(id) {
  const figure = data.figures.get(id);
  const zone = data.zones.get(id);
  return el('div', {}, el('strong', {}, zone.name),
    el('div', {}, `${nameOf(view.metric)}${figure ? ` ${quantity(view.metric, figure)}` : `: ${missing(zone)}`}`),
    figure ? el('div', {}, rank(figure)) : null,
    figure ? el('div', { class: 'when' }, time(figure.ts, zone.tz)) : null);
}

/** Colours the map and fills the list with the values of the chosen metric and hour. */
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
      said: figure ? `${zone.name}: ${nameOf(metric)} ${quantity(metric, figure)}, ${rank(figure)}` : `${zone.name}: ${nameOf(metric)}, ${missing(zone)}`,
    });
  }
  showList(colours);
  panes.arrange();
  paintLegend(metric, colours);
  showHour();
  document.body.dataset.metric = metric;
}

function showList(colours = coloursOf()) {
  list(data.zones, view.metric, view.sort ?? colours, data.figures, { now: data.now, missing }, choose);
}

function paintLegend(metric, colours) {
  const { gradient, ends } = legend(metric, colours);
  byId('ramp').style.background = gradient;
  for (const [i, id] of ['ramp-low', 'ramp-middle', 'ramp-high'].entries()) byId(id).textContent = ends[i];
  const what = colours === 'rank' ? `${nameOf(metric)} rank within each zone's past 30 days.` : `${nameOf(metric)} by value.`;
  const apart = colours === 'value' && metric === 'price' ? ' Colours compare only zones of one currency.' : '';
  byId('legend-text').textContent = `${what}${apart}${basisOf(metric)} Labels: ${labelUnit(metric)}, rounded.`;
  for (const button of document.querySelectorAll('#colours button')) button.setAttribute('aria-pressed', String(button.value === colours));
  byId('colours').style.visibility = isAhead() && metric !== 'price' ? 'hidden' : '';
  byId('none-text').textContent = isAhead() && colours === 'rank' ? 'no data, or a forecast without rank' : 'no data, or too little history';
}

/** Shows the hour in the civil time of the open zone, or in UTC. */
function showHour() {
  slider.show(view.at, clock());
  byId('figures-head').textContent = view.at ? time(view.at, clock()) : 'Now';
  note();
}

/** Returns which carbon intensities are estimates, because estimates and published values follow different definitions. */
function basisOf(metric) {
  if (metric !== 'carbon') return '';
  const published = [...data.figures].filter(([, figure]) => figure.basis === 'published').map(([id]) => id).sort();
  return ` Estimates${published.length ? `, except ${published.join(', ')} (published)` : ''}.`;
}

function note() {
  const { generated } = data.live;
  if (view.at && !data.hours) {
    byId('zones-note').textContent = 'No data for this hour yet.';
    return;
  }
  const hour = `for the hour from ${time(view.at ?? 0, clock())}`;
  const parts = [!view.at ? `As of ${time(generated, clock())}.` : isAhead() ? `${whatIsAhead()} ${hour}.` : `Means ${hour}.`];
  const without = data.zones.size - data.figures.size;
  if (without) parts.push(`${without} of ${data.zones.size} zones ${without === 1 ? 'has' : 'have'} no data ${view.at ? 'for this hour' : 'on this metric'}.`);
  const overdue = [...data.figures.values()].filter((figure) => figure.expectedBy && data.now > figure.expectedBy).length;
  if (overdue) parts.push(`${overdue} overdue (◷): newer data was expected.`);
  byId('zones-note').textContent = parts.join(' ');
}

/** Returns a description of the values of a future hour. */
function whatIsAhead() {
  const expected = [...data.figures.values()].filter((figure) => figure.expected).length;
  if (view.metric !== 'price') return `${nameOf(view.metric)}: operator forecasts (dashed)`;
  return expected ? 'Auction prices, and operator forecasts (dashed)' : 'Auction prices';
}

/** Fetches the free documents and shows them, or shows the error and tries again later. */
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
  if (error && !data.live) byId('zones-note').textContent = 'No data yet.';
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

/** Fills the open panel again: always its headline, and its charts if their values may have changed. */
function refill() {
  showHeadline();
  if (!key.stored() || Date.now() - data.filled > EXACT_EVERY) fill();
}

function showHeadline() {
  if (view.zone) byId('headline')?.replaceChildren(panel.headline(data.zones.get(view.zone), view, data.figures.get(view.zone), data.now));
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

/** Gives the panel half of the window, or its own width. */
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
  showHour();
  byId('panel').hidden = id === null;
  document.body.classList.toggle('with-panel', id !== null);
  if (id === null) {
    filling += 1;
    if (before) goBack(before);
    return;
  }
  if (withFocus) opener = from ?? null;
  const figure = data.figures.get(id);
  byId('panel').replaceChildren(...panel.frame(view, data.zones, figure, data.now, actions));
  showHeadline();
  if (withFocus) byId('panel').focus({ preventScroll: !document.body.classList.contains('embed') });
  byId('side').scrollTop = 0;
  byId('said').textContent = `${data.zones.get(id).name}. ${figure ? `${nameOf(view.metric)} ${quantity(view.metric, figure)}, ${rank(figure)}.` : ''}`;
  await fill();
}

/** Moves the focus back to where the zone was opened. */
function goBack(zone) {
  const button = opener && document.querySelector(`[data-keep="${opener}"]`);
  if (button) button.focus();
  else document.querySelector(`path[data-zone="${zone}"]`)?.focus({ preventScroll: true });
}

function remember() {
  const { metric, colours, sort, zone, at, flows: flowLayer, plants: plantLayer } = view;
  const { beside, span, block, panel: width } = zone ? view : {};
  const { from, to } = span === 'dates' ? view : {};
  address.write({ metric, colours, sort, zone, beside, span, from, to, block, panel: width, at, flows: flowLayer, plants: plantLayer });
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
  slider.show(at, clock());
  if (view.at && !data.hours) await loadHours();
  paint();
  remember();
  showHeadline();
  drawFlows();
}

/** Loads the hours once, even while the slider moves on. */
async function loadHours() {
  asking ??= api.hours().then(({ body }) => { data.hours = body; }, trouble).finally(() => { asking = null; });
  await asking;
}

/** Keeps the hour within the slider, also for an older URL and while the page stays open. */
function keepHour() {
  slider.setNow(data.now);
  if (view.at) {
    view.at = slider.within(view.at);
    remember();
  }
}

/** Shows the view of a URL that was typed or that the back button leads to. The link that skips the map does not change the view. */
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

/** Sets the controls to the view. */
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
  for (const button of document.querySelectorAll('#zones thead button')) {
    button.addEventListener('click', () => { view.sort = nextSort(view.sort ?? coloursOf(), button.value); remember(); showList(); });
  }
  byId('zone-search').addEventListener('input', () => { if (data.live) showList(); });
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
