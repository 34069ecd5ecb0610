// Draws the chart of a panel: a zone's history and known future values, next to those of another zone, over a period.

import * as api from './api.js';
import { drawLines, drawn } from './chart.js';
import { el, replace } from './dom.js';
import { cheapest, knownUntil, midnight, newest, points } from './figures.js';
import * as key from './key.js';
import { nameOf, number, time, unitText } from './words.js';

const SPANS = { '24h': '24 h', '7d': '7 d', '30d': '30 d', ahead: 'Tomorrow', dates: 'Dates' };
const HOURS = { '24h': 24, '7d': 168, '30d': 720 };
const BLOCKS = ['1', '2', '3', '6'];
const SERIES = { price: { many: 'prices', lowest: 'cheapest', title: 'Cheapest' }, carbon: { many: 'carbon intensities', lowest: 'lowest-carbon', title: 'Lowest-carbon' } };
const HOUR = 3600;
const DAY = 24 * HOUR;
const FREE_HOURLY_DAYS = 7;
const FREE_DAYS = 30;
const PICTURE_WIDTH = 1200;
const download = () => api.part('download');

const isAhead = (means, now) => Boolean(means) && points(means).filter(([ts, value]) => ts > now && value !== null).length > 3;
const knowsAhead = (own, now) => [own.hours, own.day_ahead, own.forecast].some((means) => isAhead(means, now));

/** Returns the period that can be shown: a week instead of the future if no future values are known. */
export function spanShown(view, body, now) {
  const own = body.metrics[view.metric];
  if (view.span === 'ahead') return own && knowsAhead(own, now) ? 'ahead' : '7d';
  return view.span;
}

/** Draws the bar, the sentence, the chart and the buttons for files. `actions`: {span, beside, dates, block, isCurrent}. */
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
  const block = lowestHours(zone, body.metrics, view, now, actions);
  const lines = await linesOf(view, zones, body, now);
  if (!actions.isCurrent()) return;
  const known = lines.flatMap((line) => line.points).filter(([, value]) => value !== null);
  if (known.length < 2) {
    replace(place, el('p', { class: 'note' }, 'No data for this period.'));
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
  replace(document.getElementById('chart-bar'), el('div', { class: 'spans', role: 'group', 'aria-label': 'Period' }, buttons), select,
    view.span === 'dates' ? dates(view, now, actions) : '');
}

const dayOf = (ts) => new Date(ts * 1000).toISOString().slice(0, 10);

/** Returns two fields for days, both shown in full. Without a key, the last 30 days can be chosen. */
function dates(view, now, actions) {
  const [from, to] = datesOf(view, now);
  const field = (name, value, label) => el('label', {}, label, el('input', {
    type: 'date', value, required: true, 'data-keep': name, min: key.stored() ? '2015-01-01' : dayOf(now - FREE_DAYS * DAY), max: dayOf(now + 2 * DAY),
    on: { change: (event) => event.target.validity.valid && actions.dates(name === 'from' ? { from: event.target.value, to } : { from, to: event.target.value }) },
  }));
  return el('div', { class: 'dates' }, field('from', from, 'From '), field('to', to, ' to '));
}

/** Returns the chosen days in order; by default the last seven. */
function datesOf(view, now) {
  return [view.from ?? dayOf(now - 6 * DAY), view.to ?? dayOf(now)].sort();
}

/** Returns known future values by the rule of `/v1/windows`: prices of the auction, otherwise the operator's forecast. */
function aheadOf(own, metric) {
  if (metric === 'price') return own.day_ahead ?? own.forecast ?? own.hours;
  return metric === 'carbon' ? own.forecast : null;
}

/** Shows the hours with the lowest price or carbon intensity and a choice of how many. Returns their block, which the chart shades. */
function lowestHours(zone, metrics, view, now, actions) {
  const place = document.getElementById('window');
  const own = metrics[view.metric];
  const means = aheadOf(own, view.metric);
  if (!means) {
    replace(place);
    return null;
  }
  const until = knownUntil(means, now);
  if (until === null) {
    replace(place, el('p', {}, `No future ${SERIES[view.metric].many} are available, so there are no ${SERIES[view.metric].lowest} hours to show.${
      metrics.carbon?.forecast && view.metric === 'price' ? ' A forecast of carbon intensity is available.' : ''}`));
    return null;
  }
  const length = Number(view.block ?? 3);
  const best = cheapest(means, now, length);
  const published = means.published_at;
  const horizon = published ? `The forecast was published at ${time(published, zone.tz, now - published > DAY / 2)} and extends to ${time(until, zone.tz)}`
    : `Prices are known until ${time(until, zone.tz)}`;
  const sentence = !best ? `${horizon}, which is too few hours to find the ${SERIES[view.metric].lowest}.`
    : `${SERIES[view.metric].title} ${length === 1 ? 'hour' : `${length} hours`} ahead${published ? ' by operator forecast' : ''}: ${time(best.start, zone.tz)} to ${time(best.end, zone.tz, false)}, about ${number(best.mean, 0)} ${unitText(own.unit)}. ${horizon}.`;
  const buttons = BLOCKS.map((hours) => el('button', {
    type: 'button', class: 'quiet', 'data-keep': `block-${hours}`, 'aria-pressed': String(Number(hours) === length), on: { click: () => actions.block(hours) },
  }, `${hours} h`));
  replace(place, el('p', {}, sentence), el('div', { class: 'spans', role: 'group', 'aria-label': `Length of the ${SERIES[view.metric].lowest} block` }, buttons));
  return best;
}

async function linesOf(view, zones, body, now) {
  const lines = await linesOfZone(view, zones.get(view.zone), body, now);
  if (!view.beside || !zones.has(view.beside)) return lines;
  const other = await api.history(view.beside).catch(() => null);
  if (!other?.body.metrics[view.metric]) return lines;
  return [...lines, ...(await linesOfZone(view, zones.get(view.beside), other.body, now))];
}

/** Returns a line of actual values, and lines of their own for day-ahead prices and for the operator's forecast. */
async function linesOfZone(view, zone, body, now) {
  const own = body.metrics[view.metric];
  const [start, end] = windowOf(view, zone, now);
  const shared = { id: zone.id, metric: view.metric, unit: own.unit, attribution: body.attribution, license: body.license };
  const label = view.metric === 'carbon' && zone.carbon_basis === 'estimate' ? `${zone.name}, estimated` : zone.name;
  const lines = [await line({ ...shared, label, kind: 'actual' }, own, start, end, now)];
  const add = (means, name, more) => {
    const known = means ? within(points(means), start, end) : [];
    if (known.length) lines.push({ ...shared, label: `${zone.name}, ${name}`, points: known, exact: false, step: means.step, ...more });
  };
  // The free document has a week of day-ahead prices. In a longer chart, they would seem to start a week ago.
  if (start >= now - FREE_HOURLY_DAYS * DAY) add(own.day_ahead, 'day-ahead', { kind: 'actual', metric: 'price_day_ahead', hue: `${zone.id} day-ahead` });
  add(own.forecast, 'forecast', { kind: 'forecast' });
  return lines;
}

const within = (pairs, start, end) => pairs.filter(([ts]) => ts >= start && ts < end);

/** Returns exact values if the visitor's key works, else rounded ones: hourly over the last week, 6-hourly before it. */
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

/** Returns rows as pairs, with a null for a step without a row. Civil days may have 23 or 25 hours. */
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
  const dashed = lines.some((line) => line.kind === 'forecast') ? ' Dashed: operator forecast, rounded.' : '';
  const button = (text, action) => el('button', { type: 'button', class: 'quiet small', 'data-keep': text, on: { click: action } }, text);
  replace(place,
    el('span', { class: 'note' }, `${means} means${lines[0].exact ? '' : ', rounded'}; ${units}, ${zone.tz} time.${dashed} Drag to zoom; a double click shows all.`),
    button('CSV', async () => (await download()).csv(name, lines)),
    button('PNG', async () => (await download()).png(name, await drawn(options, PICTURE_WIDTH), title, lines)));
}
