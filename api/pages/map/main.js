// The page's state and what changes it: the metric, the zone, the layers, the time that passes.

import * as api from './api.js';
import * as brief from './brief.js';
import { byId, el } from './dom.js';
import * as flows from './flows.js';
import * as freshness from './freshness.js';
import { listed } from './listing.js';
import { Panes } from './panes.js';
import * as plants from './plants.js';
import { colourOf, isDark } from './scale.js';
import * as signup from './signup.js';
import * as theme from './theme.js';
import { labelUnit, nameOf, quantity, rank, refusal, short, time } from './words.js';

const METRICS = ['price', 'demand', 'interchange', 'carbon_intensity'];
const AGAIN = 5 * 60 * 1000;

const state = { metric: 'price', zone: null, zones: new Map(), figures: new Map(), now: 0, metricAsked: 0, zoneAsked: 0 };
const layers = { flows: null, plants: null };
let lineFeatures = [];
const panes = new Panes((zone) => choose(zone), tip);

function tip(id) {
  const shown = state.figures.get(id);
  const zone = state.zones.get(id);
  return el('div', {}, el('strong', {}, zone.name),
    shown ? el('div', {}, `${nameOf(state.metric)} ${quantity(state.metric, shown)}`) : el('div', {}, `${nameOf(state.metric)} is not published`),
    shown ? el('div', {}, rank(shown.percentile)) : null,
    shown ? el('div', { class: 'when' }, time(shown.ts, zone.tz)) : null);
}

/** Asks for a metric of all zones and colours the map with it. */
async function colour(metric) {
  const asked = (state.metricAsked += 1);
  try {
    const { body, stale, simulated } = await api.snapshot(metric);
    if (asked !== state.metricAsked) return;
    state.metric = metric;
    state.now = body.generated;
    state.figures = new Map(Object.entries(body.zones).flatMap(([id, zone]) => (zone.metrics[metric] ? [[id, zone.metrics[metric]]] : [])));
    painted();
    byId('simulated').hidden = !simulated;
    note(body, stale);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    byId('zones-note').textContent = refusal(error);
  }
}

function painted() {
  const { metric, figures } = state;
  for (const [id, zone] of state.zones) {
    const shown = figures.get(id);
    const percentile = shown?.percentile;
    panes.paint(id, {
      fill: colourOf(percentile), dark: isDark(percentile), text: shown ? short(metric, shown) : '',
      said: shown ? `${zone.name}: ${nameOf(metric)} ${quantity(metric, shown)}, ${rank(percentile)}` : `${zone.name}: ${nameOf(metric)} not published`,
    });
  }
  byId('legend-text').textContent = `${nameOf(metric)}, each zone among its own last 30 days. Labels: ${labelUnit(metric)}.`;
  listed(state.zones, metric, figures, (id) => choose(id));
  document.body.dataset.metric = metric;
}

function note(body, stale) {
  const missing = state.zones.size - state.figures.size;
  const parts = [`As of ${time(body.generated, 'UTC')}, the highest among its own last 30 days first.`];
  if (stale) parts.push('Overdue: newer figures should be out.');
  if (missing) parts.push(`${missing} of ${state.zones.size} zones publish no such figure here.`);
  byId('zones-note').textContent = parts.join(' ');
}

/** Shows a zone's brief beside the map; null shows all zones again. */
async function choose(id) {
  const asked = (state.zoneAsked += 1);
  const panel = byId('brief');
  const before = state.zone;
  state.zone = id;
  panes.select(id);
  addressed();
  panel.hidden = id === null;
  byId('zones').hidden = id !== null;
  document.body.classList.toggle('with-brief', id !== null);
  if (id === null) {
    back(before);
    return;
  }
  const zone = state.zones.get(id);
  const shown = state.figures.get(id);
  panel.replaceChildren(...brief.frame(zone, state.metric, shown, () => choose(null)));
  panel.focus({ preventScroll: true });
  byId('side').scrollTop = 0;
  byId('said').textContent = `${zone.name}. ${shown ? `${nameOf(state.metric)} ${quantity(state.metric, shown)}, ${rank(shown.percentile)}.` : ''}`;
  panel.setAttribute('aria-busy', 'true');
  await brief.filled(panel, zone, state.metric, shown, state.now);
  if (asked === state.zoneAsked) panel.setAttribute('aria-busy', 'false');
}

/** Focus goes back to where the zone was opened from. */
function back(before) {
  if (before) document.querySelector(`path[data-zone="${before}"]`)?.focus({ preventScroll: true });
}

/** The view as an address that can be passed on. */
function addressed() {
  const parts = new URLSearchParams({ metric: state.metric, ...(state.zone ? { zone: state.zone } : {}) });
  history.replaceState(null, '', `#${parts}`);
}

async function showFlows(wanted) {
  if (!wanted) {
    for (const [, layer] of layers.flows ?? []) layer.remove();
    return;
  }
  if (!layers.flows) {
    const rows = await flows.newest(lineFeatures.map((feature) => feature.properties));
    if (layers.flows) return;
    layers.flows = flows.draw(lineFeatures, rows, panes, (zone) => state.zones.get(zone)?.tz ?? 'UTC');
    document.body.dataset.flows = 'drawn';
    if (!byId('show-flows').checked) await showFlows(false);
    return;
  }
  for (const [map, layer] of layers.flows) layer.addTo(map);
}

async function showPlants(wanted) {
  byId('fuels').hidden = !wanted;
  if (!wanted) {
    for (const [, layer] of layers.plants ?? []) layer.remove();
    return;
  }
  if (!layers.plants) {
    const { body } = await api.plants();
    if (layers.plants) return;
    layers.plants = plants.draw(body, panes, byId('fuels'));
    if (!byId('show-plants').checked) await showPlants(false);
    return;
  }
  for (const [map, layer] of layers.plants) layer.addTo(map);
}

async function refreshed() {
  if (document.hidden) return;
  await colour(state.metric);
  await fresh();
}

async function fresh() {
  try {
    freshness.shown((await api.status()).body);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    byId('freshness-note').textContent = refusal(error);
  }
}

function wire() {
  for (const radio of document.querySelectorAll('input[name=metric]')) {
    radio.addEventListener('change', async () => {
      await colour(radio.value);
      addressed();
      if (state.zone) await choose(state.zone);
    });
  }
  byId('show-flows').addEventListener('change', (event) => showFlows(event.target.checked));
  byId('show-plants').addEventListener('change', (event) => showPlants(event.target.checked));
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && state.zone && !byId('sign-up').open) choose(null);
  });
  setInterval(refreshed, AGAIN);
}

async function drawn() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const metric = METRICS.includes(wanted.get('metric')) ? wanted.get('metric') : 'price';
  document.querySelector(`input[name=metric][value=${metric}]`).checked = true;
  const land = fetch(new URL('land.json', import.meta.url)).then((answer) => answer.json());
  const lines = api.lines();
  const { body: zones } = await api.zones();
  state.zones = new Map(zones.features.map((feature) => [feature.id, feature.properties]));
  panes.drawZones(zones);
  byId('attribution').textContent = zones.attribution;
  land.then((collection) => panes.drawLand(collection));
  await Promise.all([colour(metric), fresh()]);
  document.body.dataset.ready = 'true';
  performance.mark('ready');
  if (state.zones.has(wanted.get('zone'))) choose(wanted.get('zone'));
  lineFeatures = (await lines).body.features;
  if (byId('show-flows').checked) await showFlows(true);
}

async function start() {
  theme.wire();
  signup.wire();
  wire();
  try {
    await drawn();
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    byId('zones-note').textContent = refusal(error);
  }
}

start();
