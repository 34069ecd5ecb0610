// Which way the power flows: the newest rows of the borders, joined to the lines by `link`, else by the pair of zones.

import * as api from './api.js';
import { el } from './dom.js';
import { number, time } from './words.js';

const KEPT = 'emds-flows';
const KEPT_FOR = 15 * 60 * 1000;

/** Zones that together touch every pair of lines: asking them all, and no more, tells of every border. */
export function askedZones(lines) {
  const open = new Map(lines.map((line) => [line.pair, [line.from, line.to]]));
  const asked = [];
  while (open.size) {
    const counts = new Map();
    for (const zone of [...open.values()].flat()) counts.set(zone, (counts.get(zone) ?? 0) + 1);
    const [most] = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))[0];
    asked.push(most);
    for (const [pair, ends] of open) if (ends.includes(most)) open.delete(pair);
  }
  return asked;
}

/** The newest row of each border, as {zone, counterparty, link, value, ts}: `value` MW, + = into `zone`. */
export async function newest(lines) {
  const kept = remembered();
  if (kept) return kept;
  const answers = await Promise.allSettled(askedZones(lines).map((zone) => rowsOf(zone)));
  const rows = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (rows.length) sessionStorage.setItem(KEPT, JSON.stringify({ at: Date.now(), rows }));
  return rows;
}

function remembered() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null');
  return kept && Date.now() - kept.at < KEPT_FOR ? kept.rows : null;
}

async function rowsOf(zone) {
  const { body } = await api.borders(zone);
  const found = new Map();
  for (const { counterparty, link, ts, value } of body.data) {
    const key = `${counterparty} ${link}`;
    if (!found.has(key) || found.get(key).ts < ts) found.set(key, { zone, counterparty, link, ts, value });
  }
  return [...found.values()];
}

/** The flow on a line, {mw, from, to, ts, whole}; `whole`: the border's total, which several lines may share. Null where none is published. */
export function flowOn(line, rows) {
  const own = rows.find((row) => row.link === line.id);
  const border = rows.find((row) => !row.link && [line.from, line.to].includes(row.zone) && [line.from, line.to].includes(row.counterparty));
  const row = own ?? border;
  if (!row) return null;
  const other = row.zone === line.from ? line.to : line.from;
  const inward = row.value >= 0;
  return { mw: Math.abs(row.value), from: inward ? other : row.zone, to: inward ? row.zone : other, ts: row.ts, whole: !own };
}

/** Draws every line, in the direction of its flow where one is known. */
export function draw(features, rows, panes, clockOf) {
  const layers = [];
  const renderers = new Map();
  for (const { properties: line, geometry } of features) {
    const flow = flowOn(line, rows);
    const path = geometry.coordinates.map(([lon, lat]) => [lat, lon]);
    if (flow && flow.from !== line.from) path.reverse();
    const map = panes.mapAt(geometry.coordinates[0]);
    if (!renderers.has(map)) renderers.set(map, L.svg({ pane: 'flows', padding: 0.7 }));
    const shared = { pane: 'flows', renderer: renderers.get(map) };
    const moving = flow && flow.mw >= 1;
    const weight = moving ? 1.4 + 2.6 * Math.sqrt(Math.min(flow.mw, 4000) / 4000) : 1.2;
    const halo = L.polyline(path, { ...shared, className: 'flow-halo', weight: weight + 2.4, interactive: false }).addTo(map);
    const drawn = L.polyline(path, { ...shared, className: moving ? 'flow moving' : 'flow', weight });
    // Leaflet makes a new element each time that a layer is shown.
    drawn.on('add', () => marked(drawn.getElement(), line, moving ? flow : null));
    drawn.bindTooltip(() => tip(line, flow, clockOf), { sticky: true, className: 'tip', opacity: 1 }).addTo(map);
    layers.push([map, halo], [map, drawn]);
  }
  return layers;
}

function marked(path, line, flow) {
  path.dataset.line = line.id;
  if (!flow) return;
  path.dataset.to = flow.to;
  path.setAttribute('marker-end', 'url(#arrow)');
}

function tip(line, flow, clockOf) {
  const what = flow
    ? `${flow.from} → ${flow.to}  ${number(flow.mw, 0)} MW${flow.whole ? ', all lines of this border' : ''}`
    : 'No flow is published for it.';
  return el('div', {}, el('strong', {}, line.name), el('div', {}, what),
    flow ? el('div', { class: 'when' }, time(flow.ts, clockOf(flow.to))) : null,
    line.capacity_mw ? el('div', { class: 'when' }, `${line.type}, ${number(line.capacity_mw, 0)} MW`) : el('div', { class: 'when' }, line.type));
}
