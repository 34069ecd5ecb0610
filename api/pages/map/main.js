// The page's state and what changes it: the metric, the colours, the hour, the zone, the layers, the time that passes.

import * as address from './address.js';
import * as api from './api.js';
import { byId, el } from './dom.js';
import * as figures from './figures.js';
import * as flows from './flows.js';
import * as freshness from './freshness.js';
import * as key from './key.js';
import { list } from './listing.js';
import { Panes } from './panes.js';
import * as panel from './panel.js';
import * as plants from './plants.js';
import { colourOf, isDark, legend } from './scale.js';
import * as signup from './signup.js';
import * as theme from './theme.js';
import { labelUnit, nameOf, quantity, rank, refusal, short, time } from './words.js';

const EVERY = 2 * 60 * 1000;
const AGAIN = 15 * 1000;
// Exact figures count as answers of the visitor's key: 96 a day at most for a tab left open.
const EXACT_EVERY = 15 * 60 * 1000;
const HOUR = 3600;
// Net import has a natural zero, carbon intensity a natural scale; prices and sizes of zones differ too much.
const COLOURS = { price: 'rank', demand: 'rank', interchange: 'value', carbon_intensity: 'value' };

const view = { metric: 'price', colours: null, zone: null, beside: null, span: '7d', at: null, ...address.read() };
const data = { live: null, hours: null, lines: null, now: 0, zones: new Map(), figures: new Map(), filled: 0 };
const layers = { flows: null, plants: null };
// The `data-keep` of the button in the list that opened the panel; null where the map did.
let opener = null;
let asking = null;
const panes = new Panes((zone) => choose(zone), tip);
let timer = null;
let turn = 0;

const coloursOf = () => (view.at ? 'value' : view.colours ?? COLOURS[view.metric]);

function tip(id) {
  const figure = data.figures.get(id);
  const zone = data.zones.get(id);
  return el('div', {}, el('strong', {}, zone.name),
    figure ? el('div', {}, `${nameOf(view.metric)} ${quantity(view.metric, figure)}`) : el('div', {}, `${nameOf(view.metric)} is not published`),
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
    const figure = view.at ? figures.ofHour(zone, data.hours, metric, view.at) : figures.newest(zone, metric);
    if (figure) data.figures.set(id, figure);
    panes.paint(id, {
      fill: colourOf(figure, metric, colours), dark: isDark(figure, metric, colours), text: figure ? short(metric, figure) : '',
      said: figure ? `${zone.name}: ${nameOf(metric)} ${quantity(metric, figure)}, ${rank(figure)}` : `${zone.name}: ${nameOf(metric)} not published`,
    });
  }
  list(data.zones, metric, colours, data.figures, data.now, choose);
  paintLegend(metric, colours);
  note();
  document.body.dataset.metric = metric;
}

function paintLegend(metric, colours) {
  const { gradient, ends } = legend(metric, colours);
  byId('ramp').style.background = gradient;
  for (const [i, id] of ['ramp-low', 'ramp-middle', 'ramp-high'].entries()) byId(id).textContent = ends[i];
  const what = colours === 'rank' ? 'each zone among its own last 30 days' : 'by value';
  byId('legend-text').textContent = `${nameOf(metric)}, ${what}. Labels: ${labelUnit(metric)}, rounded.`;
  for (const button of document.querySelectorAll('#colours button')) button.setAttribute('aria-pressed', String(button.value === colours));
  byId('colours').hidden = Boolean(view.at);
}

function note() {
  const { generated } = data.live;
  if (view.at && !data.hours) {
    byId('zones-note').textContent = 'The hours before are not known yet.';
    return;
  }
  const parts = [view.at ? `Means of the hour from ${time(view.at, 'UTC')}.` : `As of ${time(generated, 'UTC')}.`];
  const known = [...data.figures.keys()];
  const missing = data.zones.size - known.length;
  if (missing && known.length <= 3) parts.push(`${nameOf(view.metric)} is published here for ${known.length ? `${known.join(', ')} only` : 'no zone'}.`);
  else if (missing) parts.push(`${missing} of ${data.zones.size} zones publish no such figure here.`);
  const overdue = [...data.figures.values()].filter((figure) => figure.expectedBy && data.now > figure.expectedBy).length;
  if (overdue) parts.push(`${overdue} overdue (◷): newer figures should be out.`);
  byId('zones-note').textContent = parts.join(' ');
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
  if (view.zone) byId('headline')?.replaceChildren(panel.headline(data.zones.get(view.zone), view.metric, data.figures.get(view.zone)));
}

async function fill() {
  data.filled = Date.now();
  const section = byId('panel');
  section.setAttribute('aria-busy', 'true');
  await panel.fill(view, data.zones, data.now, actions);
  section.setAttribute('aria-busy', 'false');
}

const actions = {
  close: () => choose(null),
  span: (span) => change({ span }),
  beside: (beside) => change({ beside }),
  key: () => signup.open(true),
  forget: () => { key.store(null); fill(); },
};

function change(part) {
  Object.assign(view, part);
  remember();
  fill();
}

/** Shows a zone's panel beside the map; null shows all zones again. */
async function choose(id, withFocus = true) {
  const before = view.zone;
  view.zone = id;
  panes.select(id);
  remember();
  byId('panel').hidden = id === null;
  document.body.classList.toggle('with-panel', id !== null);
  if (id === null) {
    if (before) goBack(before);
    return;
  }
  if (withFocus) opener = document.activeElement?.dataset.keep ?? null;
  const figure = data.figures.get(id);
  byId('panel').replaceChildren(...panel.frame(view, data.zones, figure, actions));
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
  const { metric, colours, zone, beside, span, at } = view;
  address.write({ metric, colours, zone, beside: zone && beside, span: zone && span, at, flows: view.flows, plants: view.plants });
}

async function drawFlows() {
  for (const [, layer] of layers.flows ?? []) layer.remove();
  layers.flows = null;
  if (view.flows === 'hidden' || view.at) return;
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

/** The slider: 0 is 47 hours ago, 47 the present. */
async function slide(position) {
  if (!data.live) return;
  view.at = atPosition(position);
  showHour();
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

const runningHour = () => data.now - (data.now % HOUR);
const atPosition = (position) => (position >= 47 ? null : runningHour() - (47 - position) * HOUR);

/** The hour that is shown stays one of the last 48: of an address that is older, and while a page stands open. */
function keepHour() {
  if (view.at) {
    view.at = atPosition(Math.max(0, 47 - Math.ceil((runningHour() - view.at) / HOUR)));
    remember();
  }
  showHour();
}

function showHour() {
  byId('hour').value = view.at ? 47 - (runningHour() - view.at) / HOUR : 47;
  byId('hour-text').textContent = view.at ? time(view.at, 'UTC') : 'now';
  byId('hour').setAttribute('aria-valuetext', byId('hour-text').textContent);
}

/** Another view was put into the address of the open page; or the link that skips the map was followed, and the view stays. */
function goTo() {
  if (location.hash === '#zones') remember();
  else location.reload();
}

function wire() {
  for (const radio of document.querySelectorAll('input[name=metric]')) {
    radio.checked = radio.value === view.metric;
    radio.addEventListener('change', () => {
      Object.assign(view, { metric: radio.value, colours: null });
      remember();
      paint();
      if (view.zone) choose(view.zone, false);
    });
  }
  for (const button of document.querySelectorAll('#colours button')) {
    button.addEventListener('click', () => { view.colours = button.value; remember(); paint(); });
  }
  byId('show-flows').checked = view.flows !== 'hidden';
  byId('show-flows').addEventListener('change', (event) => { view.flows = event.target.checked ? null : 'hidden'; remember(); drawFlows(); });
  byId('show-plants').checked = view.plants === 'shown';
  byId('show-plants').addEventListener('change', (event) => {
    view.plants = event.target.checked ? 'shown' : null;
    remember();
    showPlants(event.target.checked);
  });
  byId('hour').addEventListener('input', (event) => slide(Number(event.target.value)));
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && view.zone && !byId('sign-up').open) choose(null);
  });
  // A tab in the background is not refreshed by browsers; it catches up when it comes to the front.
  document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
  window.addEventListener('online', refresh);
  window.addEventListener('hashchange', goTo);
  window.addEventListener('emds-key', () => { if (view.zone) fill(); });
}

async function start() {
  theme.wire();
  signup.wire();
  wire();
  fetch(new URL('land.json', import.meta.url)).then((response) => response.json()).then((land) => panes.drawLand(land)).catch(() => null);
  await refresh();
}

start();
