// Draws the newest flow of each border on the lines, matched by `link`, otherwise by the pair of zones.

import { el } from './dom.js';
import { number, time } from './words.js';

/** Returns the flow on a line, {mw, from, to, ts, whole}, or null if none is published. `whole` marks the total of a border. */
export function flowOn(line, rows) {
  const own = rows.find((row) => row.link === line.id);
  const border = rows.find((row) => !row.link && [line.from, line.to].includes(row.zone) && [line.from, line.to].includes(row.counterparty));
  const row = own ?? border;
  if (!row) return null;
  const other = row.zone === line.from ? (line.to ?? line.neighbour) : line.from;
  const inward = row.mw >= 0;
  return { mw: Math.abs(row.mw), from: inward ? other : row.zone, to: inward ? row.zone : other, ts: row.ts, whole: !own };
}

const SHORTEST = { sparse: 22, dense: 14 };

/** Returns a path long enough for an arrow. A path over a land border has few pixels, so it becomes a longer straight line. */
function legible(map, path) {
  const [from, to] = [path[0], path.at(-1)].map((end) => map.latLngToLayerPoint(end));
  const length = from.distanceTo(to);
  const shortest = SHORTEST[map.isDense ? 'dense' : 'sparse'];
  if (length >= shortest || length === 0) return path;
  const middle = from.add(to).divideBy(2);
  const half = to.subtract(from).multiplyBy(shortest / 2 / length);
  return [middle.subtract(half), middle.add(half)].map((point) => map.layerPointToLatLng(point));
}

/** Draws every line, in the direction of its flow if it is known. */
export function draw(features, rows, panes, clockOf) {
  const layers = [];
  const renderers = new Map();
  for (const { properties: line, geometry } of features) {
    const flow = flowOn(line, rows);
    const own = geometry.coordinates.map(([lon, lat]) => [lat, lon]);
    if (flow && flow.from !== line.from) own.reverse();
    const map = panes.mapAt(geometry.coordinates[0]);
    const shape = () => (line.type === 'AC' ? legible(map, own) : own);
    const path = shape();
    if (!renderers.has(map)) renderers.set(map, L.svg({ pane: 'flows', padding: 0.7 }));
    const shared = { pane: 'flows', renderer: renderers.get(map) };
    const moving = flow && flow.mw >= 1;
    const weight = moving ? 1.4 + (map.isDense ? 1.6 : 2.6) * Math.sqrt(Math.min(flow.mw, 4000) / 4000) : 1.2;
    const halo = L.polyline(path, { ...shared, className: 'flow-halo', weight: weight + 2.4, interactive: false }).addTo(map);
    const drawn = L.polyline(path, { ...shared, className: moving ? 'flow moving' : 'flow', weight });
    map.on('zoomend', () => { for (const part of [halo, drawn]) part.setLatLngs(shape()); });
    // Leaflet creates a new element each time a layer is shown.
    drawn.on('add', () => mark(drawn.getElement(), line, moving ? flow : null));
    drawn.bindTooltip(() => tip(line, flow, clockOf), { sticky: true, className: 'tip', opacity: 1 }).addTo(map);
    layers.push([map, halo], [map, drawn]);
  }
  return layers;
}

/** Marks a line with its direction and name. Lines are not tab stops, because the panel of a zone lists its borders. */
function mark(path, line, flow) {
  path.dataset.line = line.id;
  path.setAttribute('tabindex', '-1');
  path.setAttribute('aria-hidden', 'true');
  if (!flow) return;
  path.dataset.to = flow.to;
  path.setAttribute('marker-end', 'url(#arrow)');
}

function tip(line, flow, clockOf) {
  const what = flow
    ? `${flow.from} → ${flow.to}  ${number(flow.mw, 0)} MW, rounded${flow.whole ? ', all lines of this border' : ''}`
    : 'No flow data for this line.';
  return el('div', {}, el('strong', {}, line.name), el('div', {}, what),
    flow ? el('div', { class: 'when' }, time(flow.ts, clockOf(line.to ? flow.to : line.from))) : null,
    line.capacity_mw ? el('div', { class: 'when' }, `${line.type}, ${number(line.capacity_mw, 0)} MW`) : el('div', { class: 'when' }, line.type));
}
