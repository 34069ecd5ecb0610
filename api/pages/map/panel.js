// One zone in the side panel: its figure and rank, its history as charts, its mix and borders, and its brief in words.

import * as api from './api.js';
import { drawLines, drawStack, ready } from './chart.js';
import { el, replace } from './dom.js';
import * as download from './download.js';
import { cheapest, knownUntil, newest, points } from './figures.js';
import * as key from './key.js';
import { nameOf, number, quantity, rank, refusal, time, unitText } from './words.js';

const METRICS = ['price', 'demand', 'interchange', 'carbon_intensity'];
const SPANS = { '24h': '24 h', '7d': '7 d', '30d': '30 d', ahead: 'Tomorrow' };
const HOURS = { '24h': 24, '7d': 168 };
const HOUR = 3600;

/** A bar of 0 to 100 with the zone's place on it; the words beside it say the same. */
export function rankBar(percentile) {
  const known = percentile !== null && percentile !== undefined;
  const bar = el('span', { class: known ? 'rank' : 'rank unknown', 'aria-hidden': 'true' }, known ? el('i') : null);
  if (known) bar.firstChild.style.left = `${percentile}%`;
  return bar;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** The panel of `view.zone`, with what the map knows. `actions`: {close, span, beside, key}. */
export function frame(view, zones, figure, actions) {
  const zone = zones.get(view.zone);
  const close = el('button', { type: 'button', class: 'quiet close', 'aria-label': 'Close and show all zones', on: { click: actions.close } }, '×');
  return [
    el('div', { class: 'panel-head' }, el('div', {}, el('p', { class: 'id' }, zone.id), el('h2', { id: 'panel-title' }, zone.name)), close),
    el('div', { id: 'headline' }, headline(zone, view.metric, figure)),
    zone.note ? el('p', { class: 'note' }, zone.note) : null,
    el('div', { id: 'chart-bar' }),
    el('div', { id: 'chart', class: 'chart-place' }),
    el('div', { id: 'chart-actions' }),
    el('p', { class: 'note', id: 'window' }),
    el('div', { id: 'panel-rest' }),
    el('div', { id: 'exact' }),
  ].filter(Boolean);
}

export function headline(zone, metric, figure) {
  if (!figure) return el('p', { class: 'headline none' }, `${nameOf(metric)} is not published here.`);
  return el('div', { class: 'headline' },
    el('p', { class: 'value' }, el('span', {}, nameOf(metric)), el('strong', {}, quantity(metric, figure))),
    rankBar(figure.percentile),
    el('p', { class: 'note' }, `${capital(rank(figure))}. Interval starting ${time(figure.ts, zone.tz)}.`));
}

/** Fills the panel from the zone's free document, and with exact figures where the visitor stored a key. */
export async function fill(view, zones, now, actions) {
  const zone = zones.get(view.zone);
  const place = document.getElementById('chart');
  if (!place) return;
  let body;
  try {
    [{ body }] = await Promise.all([api.history(zone.id), ready()]);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    place.replaceChildren(el('p', { class: 'note' }, refusal(error)));
    return;
  }
  if (!place.isConnected) return;
  const shown = { ...view, span: spanShown(view, body, now) };
  chartBar(shown, zones, body, now, actions);
  await chart(shown, zones, body, now);
  if (!place.isConnected) return;
  document.getElementById('window').textContent = windowText(zone, body, view.metric, now);
  rest(zone, body);
  await exact(view, zone, actions);
}

const isAhead = (means, now) => points(means).filter(([ts, value]) => ts > now && value !== null).length > 3;

/** The chosen span; a week where tomorrow's prices are not out yet. */
function spanShown({ metric, span }, body, now) {
  const own = body.metrics[metric];
  return span === 'ahead' && !(own && isAhead(own.hours, now)) ? '7d' : span;
}

function chartBar(view, zones, body, now, actions) {
  const own = body.metrics[view.metric];
  const bar = document.getElementById('chart-bar');
  if (!own) {
    replace(bar);
    return;
  }
  const spans = Object.keys(SPANS).filter((span) => span !== 'ahead' || isAhead(own.hours, now));
  const buttons = spans.map((span) => el('button', {
    type: 'button', class: 'quiet', 'data-keep': span, 'aria-pressed': String(span === view.span), on: { click: () => actions.span(span) },
  }, SPANS[span]));
  const others = [...zones.values()].filter((zone) => zone.id !== view.zone && newest(zone, view.metric));
  const select = el('select', { 'aria-label': 'Compare with another zone', 'data-keep': 'beside', on: { change: (event) => actions.beside(event.target.value || null) } },
    el('option', { value: '' }, 'Compare with …'), others.map((zone) => el('option', { value: zone.id, selected: zone.id === view.beside }, zone.name)));
  replace(bar, el('div', { class: 'spans', role: 'group', 'aria-label': 'Time span' }, buttons), select);
}

async function chart(view, zones, body, now) {
  const place = document.getElementById('chart');
  const own = body.metrics[view.metric];
  if (!own) {
    place.replaceChildren();
    replace(document.getElementById('chart-actions'));
    return;
  }
  const zone = zones.get(view.zone);
  const lines = [await line(view, zone, own, now, termsOf(body))];
  if (view.beside && zones.has(view.beside)) {
    const other = await api.history(view.beside).catch(() => null);
    const theirs = other?.body.metrics[view.metric];
    if (theirs) lines.push(await line(view, zones.get(view.beside), theirs, now, termsOf(other.body)));
  }
  if (!place.isConnected) return;
  const known = lines[0].points.filter(([, value]) => value !== null);
  if (known.length < 2) {
    place.replaceChildren(el('p', { class: 'note' }, 'No history to draw.'));
    replace(document.getElementById('chart-actions'));
    return;
  }
  const title = `${nameOf(view.metric)}, ${lines.map((one) => one.label).join(' and ')}`;
  const values = known.map(([, value]) => value);
  const said = `${title}: ${time(known[0][0], zone.tz)} to ${time(known.at(-1)[0], zone.tz)}. Lowest ${number(Math.min(...values), 0)}, highest ${number(Math.max(...values), 0)} ${unitText(own.unit)}.`;
  const drawn = drawLines(place, zone.tz, lines, said, now);
  const units = [...new Set(lines.map((one) => unitText(one.unit)))].join(' and ');
  const name = `emds-${view.metric}-${lines.map((one) => one.id).join('-')}-${view.span}`;
  const button = (text, action) => el('button', { type: 'button', class: 'quiet small', 'data-keep': text, on: { click: action } }, text);
  replace(document.getElementById('chart-actions'),
    el('span', { class: 'note' }, `${stepText(view, lines)} ${units}, ${zone.tz} time.`),
    button('CSV', () => download.csv(name, lines)), button('PNG', () => download.png(name, drawn, `${nameOf(view.metric)}, ${units}`, lines)));
}

const stepText = (view, lines) => `${view.span === '30d' && !lines[0].exact ? '6-hour' : 'Hourly'} means${lines[0].exact ? '' : ', rounded'};`;

const termsOf = ({ attribution, license }) => ({ attribution, license });

/** One zone's line, on its own terms: exact where the visitor's key answers, else rounded. */
async function line(view, zone, means, now, terms) {
  const rounded = { id: zone.id, label: zone.name, unit: means.unit, points: spanOf(view.span, means, now), exact: false, ...terms };
  if (!key.stored()) return rounded;
  const [start, end] = windowOf(view.span, now);
  try {
    const { body } = await api.exactHours(view.metric, zone.id, start, end);
    const known = new Map(body.data.map((row) => [row.ts, row.value]));
    const first = body.data[0]?.ts;
    if (first === undefined) return rounded;
    const whole = [];
    for (let ts = first; ts <= body.data.at(-1).ts; ts += HOUR) whole.push([ts, known.get(ts) ?? null]);
    return { ...rounded, points: whole, exact: true, digits: view.metric === 'price' ? 2 : 0 };
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    return rounded;
  }
}

function windowOf(span, now) {
  const hour = now - (now % HOUR) + HOUR;
  if (span === 'ahead') return [hour - HOUR, hour + 48 * HOUR];
  return [hour - (HOURS[span] ?? 720) * HOUR, hour];
}

function spanOf(span, means, now) {
  if (span === '30d') return points(means.days);
  const [start, end] = windowOf(span, now);
  return points(means.hours).filter(([ts]) => ts >= start && ts < end);
}

function windowText(zone, body, metric, now) {
  if (metric !== 'price' || !body.metrics.price) return '';
  const best = cheapest(body.metrics.price.hours, now, 3);
  const until = knownUntil(body.metrics.price.hours, now);
  if (until === null) return 'No prices ahead are known, so the cheapest hours cannot be told.';
  const horizon = `Prices are known until ${time(until, zone.tz)}`;
  if (!best) return `${horizon}: too few hours to tell the cheapest.`;
  return `Cheapest 3 hours ahead: ${time(best.start, zone.tz)} to ${time(best.end, zone.tz, false)}, about ${number(best.mean, 0)} ${body.metrics.price.unit}. ${horizon}.`;
}

function rest(zone, body) {
  const place = document.getElementById('panel-rest');
  const mix = body.mix && Object.values(body.mix.parts).some((values) => values.some((value) => value > 0));
  const mixPlace = el('div', { class: 'chart-place stack' });
  const bordersPlace = el('div', { class: 'chart-place' });
  replace(place, ...[
    current(zone),
    mix ? el('h3', {}, `Generation mix, 48 h, ${body.mix.unit}`) : null, mix ? mixPlace : null,
    body.borders ? el('h3', {}, 'Net import by border, 48 h, MW') : null, body.borders ? bordersPlace : null,
    el('p', { class: 'note' }, `${body.attribution} Licence: ${body.license}. `, el('a', { 'data-keep': 'json', href: api.address(`v1/geo/live/${zone.id}`) }, 'These figures as JSON')),
  ].filter(Boolean));
  if (mix) drawStack(mixPlace, zone.tz, body.mix, `Generation mix of ${zone.name} over 48 hours`);
  if (body.borders) {
    const lines = Object.entries(body.borders.parts).slice(0, 8).map(([name, values]) =>
      ({ id: name, label: name, unit: 'MW', points: points({ ...body.borders, values }) }));
    drawLines(bordersPlace, zone.tz, lines, `Net import of ${zone.name} from each neighbour over 48 hours`, null);
  }
}

function current(zone) {
  return el('dl', { class: 'current' }, METRICS.filter((metric) => newest(zone, metric)).map((metric) => {
    const figure = newest(zone, metric);
    return el('div', {}, el('dt', {}, nameOf(metric)), el('dd', {}, quantity(metric, figure), el('small', {}, time(figure.ts, zone.tz, false))));
  }));
}

/** The brief in words with the visitor's key; without one, how to get it. */
async function exact(view, zone, actions) {
  const place = document.getElementById('exact');
  if (!key.stored()) {
    replace(place, el('p', { class: 'note' }, 'Figures here are rounded. A free key shows exact ones, and the brief in words. ',
      el('button', { type: 'button', class: 'quiet small', 'data-keep': 'key', on: { click: actions.key } }, 'Use a key')));
    return;
  }
  try {
    const { body, stale } = await api.brief(zone.id);
    if (!place.isConnected) return;
    const figure = body.current[view.metric];
    replace(place, ...[
      el('h3', {}, 'The brief, exact'),
      stale ? el('p', { class: 'badge late' }, 'Overdue: newer figures should be out.') : null,
      figure ? el('p', { class: 'value' }, el('span', {}, nameOf(view.metric)), el('b', {}, quantity(view.metric, figure, view.metric === 'price' ? 2 : 0))) : null,
      el('p', { class: 'summary' }, body.summary),
      body.coverage_note ? el('p', { class: 'note' }, body.coverage_note) : null,
      el('button', { type: 'button', class: 'quiet small', 'data-keep': 'key', on: { click: actions.forget } }, 'Forget my key'),
    ].filter(Boolean));
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    replace(place, el('p', { class: 'note' }, refusal(error)),
      el('button', { type: 'button', class: 'quiet small', 'data-keep': 'key', on: { click: actions.forget } }, 'Forget my key'));
  }
}
