// The chart of a panel: a zone's history and what lies ahead of it, beside another zone's, over a span of time.

import * as api from './api.js';
import { drawLines, drawn } from './chart.js';
import { el, replace } from './dom.js';
import { cheapest, knownUntil, midnight, newest, points } from './figures.js';
import * as key from './key.js';
import { nameOf, number, time, unitText } from './words.js';

const SPANS = { '24h': '24 h', '7d': '7 d', '30d': '30 d', ahead: 'Tomorrow', dates: 'Dates' };
const HOURS = { '24h': 24, '7d': 168, '30d': 720 };
const BLOCKS = ['1', '2', '3', '6'];
const HOUR = 3600;
const DAY = 24 * HOUR;
const FREE_HOURLY_DAYS = 7;
const FREE_DAYS = 30;
const PICTURE_WIDTH = 1200;
const download = () => api.part('download');

const isAhead = (means, now) => Boolean(means) && points(means).filter(([ts, value]) => ts > now && value !== null).length > 3;
const knowsAhead = (own, now) => isAhead(own.hours, now) || isAhead(own.forecast, now);

/** The span that can be shown: the future where something of it is known, dates where there are two, else a week. */
export function spanShown(view, body, now) {
  const own = body.metrics[view.metric];
  if (view.span === 'ahead') return own && knowsAhead(own, now) ? 'ahead' : '7d';
  return view.span;
}

/** Draws bar, sentence, chart and buttons for files. `actions`: {span, beside, dates, block, isCurrent}. */
export async function show(view, zones, body, now, actions) {
  const own = body.metrics[view.metric];
  const zone = zones.get(view.zone);
  const place = document.getElementById('chart');
  const below = document.getElementById('chart-actions');
  if (!own) {
    document.getElementById('window').className = '';
    for (const part of [document.getElementById('chart-bar'), document.getElementById('window'), place, below]) replace(part);
    return;
  }
  bar(view, zones, own, now, actions);
  const block = view.metric === 'price' ? cheapestHours(zone, own, view, now, actions) : replace(document.getElementById('window'));
  const lines = await linesOf(view, zones, body, now);
  if (!actions.isCurrent()) return;
  const known = lines.flatMap((line) => line.points).filter(([, value]) => value !== null);
  if (known.length < 2) {
    replace(place, el('p', { class: 'note' }, 'Nothing is known of that time here.'));
    replace(below);
    return;
  }
  const title = `${nameOf(view.metric)}: ${lines.map((line) => line.label).join(' and ')}`;
  const first = lines[0].points.filter(([, value]) => value !== null);
  const values = first.map(([, value]) => value);
  const said = first.length ? `${title}: ${time(first[0][0], zone.tz)} to ${time(first.at(-1)[0], zone.tz)}. Lowest ${number(Math.min(...values), 0)}, highest ${number(Math.max(...values), 0)} ${unitText(own.unit)}.` : title;
  const options = { tz: zone.tz, lines, said, now, shade: block };
  drawLines(place, options);
  files(view, below, options, title, zone);
}

function bar(view, zones, own, now, actions) {
  const spans = Object.keys(SPANS).filter((span) => span !== 'ahead' || knowsAhead(own, now));
  const buttons = spans.map((span) => el('button', {
    type: 'button', class: 'quiet', 'data-keep': span, 'aria-pressed': String(span === view.span), on: { click: () => actions.span(span) },
  }, SPANS[span]));
  const others = [...zones.values()].filter((zone) => zone.id !== view.zone && newest(zone, view.metric));
  const select = el('select', { 'aria-label': 'Compare with another zone', 'data-keep': 'beside', on: { change: (event) => actions.beside(event.target.value || null) } },
    el('option', { value: '' }, 'Compare with …'), others.map((zone) => el('option', { value: zone.id, selected: zone.id === view.beside }, zone.name)));
  replace(document.getElementById('chart-bar'), el('div', { class: 'spans', role: 'group', 'aria-label': 'Time span' }, buttons), select,
    view.span === 'dates' ? dates(view, now, actions) : '');
}

const dayOf = (ts) => new Date(ts * 1000).toISOString().slice(0, 10);

/** Two days to choose, both shown whole. Without a key 30 days are there. */
function dates(view, now, actions) {
  const [from, to] = datesOf(view, now);
  const field = (name, value, label) => el('label', {}, label, el('input', {
    type: 'date', value, required: true, 'data-keep': name, min: key.stored() ? '2015-01-01' : dayOf(now - FREE_DAYS * DAY), max: dayOf(now + 2 * DAY),
    on: { change: (event) => event.target.validity.valid && actions.dates(name === 'from' ? { from: event.target.value, to } : { from, to: event.target.value }) },
  }));
  return el('div', { class: 'dates' }, field('from', from, 'From '), field('to', to, ' to '));
}

/** The chosen days in order; without any, the last seven. */
function datesOf(view, now) {
  return [view.from ?? dayOf(now - 6 * DAY), view.to ?? dayOf(now)].sort();
}

/** The sentence of the cheapest hours, with a choice of how many; returns their block, which the chart shades. */
function cheapestHours(zone, own, view, now, actions) {
  const length = Number(view.block ?? 3);
  const until = knownUntil(own.hours, now);
  const best = until === null ? null : cheapest(own.hours, now, length);
  const horizon = until === null ? 'No prices ahead are known, so the cheapest hours cannot be told.' : `Prices are known until ${time(until, zone.tz)}`;
  const sentence = until === null ? horizon : !best ? `${horizon}: too few hours to tell the cheapest.`
    : `Cheapest ${length === 1 ? 'hour' : `${length} hours`} ahead: ${time(best.start, zone.tz)} to ${time(best.end, zone.tz, false)}, about ${number(best.mean, 0)} ${own.unit}. ${horizon}.`;
  const buttons = BLOCKS.map((hours) => el('button', {
    type: 'button', class: 'quiet', 'data-keep': `block-${hours}`, 'aria-pressed': String(Number(hours) === length), on: { click: () => actions.block(hours) },
  }, `${hours} h`));
  replace(document.getElementById('window'), el('p', {}, sentence),
    until === null ? '' : el('div', { class: 'spans', role: 'group', 'aria-label': 'Length of the cheapest block' }, buttons));
  return best;
}

async function linesOf(view, zones, body, now) {
  const lines = await linesOfZone(view, zones.get(view.zone), body, now);
  if (!view.beside || !zones.has(view.beside)) return lines;
  const other = await api.history(view.beside).catch(() => null);
  if (!other?.body.metrics[view.metric]) return lines;
  return [...lines, ...(await linesOfZone(view, zones.get(view.beside), other.body, now))];
}

/** What was measured, and apart from it what the operator expects: two lines, never joined. */
async function linesOfZone(view, zone, body, now) {
  const own = body.metrics[view.metric];
  const [start, end] = windowOf(view, zone, now);
  const shared = { id: zone.id, metric: view.metric, unit: own.unit, attribution: body.attribution, license: body.license };
  const label = view.metric === 'carbon' && zone.carbon_basis === 'estimate' ? `${zone.name}, estimated` : zone.name;
  const lines = [await line({ ...shared, label, kind: 'actual' }, own, start, end, now)];
  const expected = own.forecast ? within(points(own.forecast), start, end) : [];
  if (expected.length) lines.push({ ...shared, label: `${zone.name}, expected`, kind: 'forecast', points: expected, exact: false, step: own.forecast.step });
  return lines;
}

const within = (pairs, start, end) => pairs.filter(([ts]) => ts >= start && ts < end);

/** Exact where the visitor's key answers, else rounded: hourly over the last week, by six hours before it. */
async function line(shared, own, start, end, now) {
  const means = start < now - FREE_HOURLY_DAYS * DAY ? own.days : own.hours;
  const rounded = { ...shared, points: within(points(means), start, end), exact: false, step: means.step };
  if (!key.stored()) return rounded;
  try {
    const step = end - start > 5000 * HOUR ? DAY : HOUR;
    const { body } = await api.exactMeans(shared.metric, shared.id, start, end, step === DAY ? '1d' : '1h');
    if (!body.data.length) return rounded;
    return { ...shared, points: withGaps(body.data, step), exact: true, digits: shared.metric === 'price' ? 2 : 0, step };
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    return rounded;
  }
}

/** Rows as pairs, with a null where a step has no row. Civil days may have 23 or 25 hours. */
function withGaps(rows, step) {
  return rows.flatMap(({ ts, value }, i) => (i && ts - rows[i - 1].ts > 1.5 * step ? [[rows[i - 1].ts + step, null], [ts, value]] : [[ts, value]]));
}

function windowOf(view, zone, now) {
  const hour = now - (now % HOUR) + HOUR;
  if (view.span === 'ahead') return [hour - HOUR, hour + 2 * DAY];
  if (view.span !== 'dates') return [hour - HOURS[view.span] * HOUR, hour];
  const [from, to] = datesOf(view, now);
  return [midnight(from, zone.tz), midnight(dayOf(Date.parse(to) / 1000 + DAY), zone.tz)];
}

function files(view, place, options, title, zone) {
  const { lines } = options;
  const name = `emds-${view.metric}-${[...new Set(lines.map((line) => line.id))].join('-')}-${view.span}`;
  const units = [...new Set(lines.map((line) => unitText(line.unit)))].join(' and ');
  const means = { [HOUR]: 'Hourly', [6 * HOUR]: '6-hour', [DAY]: 'Daily' }[lines[0].step];
  const dashed = lines.some((line) => line.kind === 'forecast') ? ' Dashed: expected by the operator, rounded.' : '';
  const button = (text, action) => el('button', { type: 'button', class: 'quiet small', 'data-keep': text, on: { click: action } }, text);
  replace(place,
    el('span', { class: 'note' }, `${means} means${lines[0].exact ? '' : ', rounded'}; ${units}, ${zone.tz} time.${dashed} Drag to zoom; a double click shows all.`),
    button('CSV', async () => (await download()).csv(name, lines)),
    button('PNG', async () => (await download()).png(name, await drawn(options, PICTURE_WIDTH), title, lines)));
}
