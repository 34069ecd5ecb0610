// Shows one zone in the side panel: its value and rank, charts of its history, its mix and borders, and its brief.

import * as api from './api.js';
import { drawLines, drawStack, ready } from './chart.js';
import { el, isStatic, replace } from './dom.js';
import { newest, points } from './figures.js';
import * as history from './history.js';
import * as key from './key.js';
import { bars, tomorrow } from './mix.js';
import { absence, nameOf, quantity, rank, refusal, time } from './words.js';

const METRICS = ['price', 'demand', 'interchange', 'carbon'];

/** Returns a bar from 0 to 100 with a mark at the percentile. */
export function rankBar(percentile) {
  const known = percentile !== null && percentile !== undefined;
  const bar = el('span', { class: known ? 'rank' : 'rank unknown', 'aria-hidden': 'true' }, known ? el('i') : null);
  if (known) bar.firstChild.style.left = `${percentile}%`;
  return bar;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Returns the panel of `view.zone` with what the map knows. `actions`: {close, wide, span, beside, dates, block, key}. */
export function frame(view, zones, figure, now, actions) {
  const zone = zones.get(view.zone);
  const wide = el('button', { type: 'button', class: 'quiet small wider', 'data-keep': 'wide', 'aria-pressed': String(view.panel === 'wide'), on: { click: actions.wide } }, 'Large');
  const close = el('button', { type: 'button', class: 'quiet close', 'aria-label': 'Close and show all zones', on: { click: actions.close } }, '×');
  return [
    el('div', { class: 'panel-head' }, el('div', {}, el('p', { class: 'id' }, zone.id), el('h2', { id: 'panel-title' }, zone.name)), el('div', { class: 'buttons' }, wide, close)),
    el('div', { id: 'headline' }, headline(zone, view, figure, now)),
    zone.note ? el('p', { class: 'note' }, zone.note) : null,
    el('div', { id: 'window', class: view.metric === 'price' ? 'waits' : null }),
    el('div', { id: 'chart-bar' }),
    el('div', { id: 'chart', class: 'chart-place' }, el('p', { class: 'note' }, 'Loading history …')),
    el('div', { id: 'chart-actions' }),
    el('div', { id: 'panel-rest' }),
    isStatic ? null : useBox(zone, view.metric),
    el('div', { id: 'exact' }),
  ].filter(Boolean);
}

/** Returns the box with examples for other tools, which is filled when it is opened. */
function useBox(zone, metric) {
  const box = el('details', { class: 'use' }, el('summary', {}, 'Use it in …'));
  box.addEventListener('toggle', async () => (await api.part('use')).fill(box, zone, metric), { once: true });
  return box;
}

export function headline(zone, { metric, at }, figure, now) {
  if (!figure) return el('p', { class: 'headline none' }, `${nameOf(metric)}: ${absence(zone, metric, at)}.`);
  return el('div', { class: 'headline' },
    el('p', { class: 'value' }, el('span', {}, nameOf(metric)), el('strong', {}, quantity(metric, figure))),
    rankBar(figure.percentile),
    el('p', { class: 'note' }, `${capital(rank(figure))}. Interval starting ${time(figure.ts, zone.tz)}. ${next(figure.expectedBy, zone.tz, now)}`));
}

function next(due, tz, now) {
  if (!due) return '';
  return now > due ? `Overdue: newer data was expected by ${time(due, tz)}.` : `Next update due by ${time(due, tz, false)}.`;
}

/** Fills the panel from the zone's free document while `actions.isCurrent()`, and with exact values if the visitor stored a key. */
export async function fill(view, zones, now, actions) {
  const zone = zones.get(view.zone);
  const place = document.getElementById('chart');
  if (!place) return;
  let body;
  try {
    [{ body }] = await Promise.all([api.history(zone.id), ready()]);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    if (actions.isCurrent()) place.replaceChildren(el('p', { class: 'note' }, refusal(error)));
    return;
  }
  if (!actions.isCurrent()) return;
  await history.show({ ...view, span: history.spanShown(view, body, now) }, zones, body, now, actions);
  if (!actions.isCurrent()) return;
  rest(zone, body, view.metric, now);
  await exact(view, zone, actions);
}

function rest(zone, body, metric, now) {
  const place = document.getElementById('panel-rest');
  const mix = body.mix && Object.values(body.mix.parts).some((values) => values.some((value) => value > 0));
  const mixBars = mix && bars(body.mix, zone.tz);
  const share = body.wind_solar && tomorrow(body.wind_solar, now, zone.tz);
  const mixPlace = el('div', { class: 'chart-place stack' });
  const bordersPlace = el('div', { class: 'chart-place' });
  replace(place, ...[
    metric === 'carbon' ? null : current(zone),
    mixBars || null,
    share ? el('p', { id: 'wind-solar' }, share) : null,
    mix ? el('h3', {}, `Generation mix, 48 h, ${body.mix.unit}`) : null, mix ? mixPlace : null,
    metric === 'carbon' ? current(zone) : null,
    body.borders ? el('h3', {}, 'Net import by border, 48 h, MW') : null, body.borders ? bordersPlace : null,
    el('p', { class: 'note' }, `${body.attribution} Licence: ${body.license}. `, el('a', { 'data-keep': 'json', href: api.historyAddress(zone.id) }, 'This data as JSON')),
  ].filter(Boolean));
  if (mix) drawStack(mixPlace, zone.tz, body.mix, `Generation mix of ${zone.name} over 48 hours`);
  if (body.borders) {
    const lines = Object.entries(body.borders.parts).slice(0, 8).map(([name, values]) =>
      ({ id: name, label: name, unit: 'MW', points: points({ ...body.borders, values }) }));
    drawLines(bordersPlace, { tz: zone.tz, lines, said: `Net import of ${zone.name} from each neighbour over 48 hours` });
  }
}

function current(zone) {
  return el('dl', { class: 'current' }, METRICS.filter((metric) => newest(zone, metric)).map((metric) => {
    const figure = newest(zone, metric);
    return el('div', {}, el('dt', {}, nameOf(metric)), el('dd', {}, quantity(metric, figure), el('small', {}, time(figure.ts, zone.tz, false))));
  }));
}

/** Shows the brief with the visitor's key; without a key, how to get one. */
async function exact(view, zone, actions) {
  if (isStatic) return;
  const place = document.getElementById('exact');
  if (!key.stored()) {
    replace(place, el('p', { class: 'note' }, 'Values on this page are rounded. With a free key you see exact values and the written brief. ',
      el('button', { type: 'button', class: 'quiet small', 'data-keep': 'key', on: { click: actions.key } }, 'Use a key')));
    return;
  }
  try {
    const { body, stale } = await api.brief(zone.id);
    if (!actions.isCurrent()) return;
    const figure = body.current[view.metric];
    replace(place, ...[
      el('h3', {}, 'Market brief (exact values)'),
      stale ? el('p', { class: 'badge late' }, 'Overdue: newer data was expected.') : null,
      figure ? el('p', { class: 'value' }, el('span', {}, nameOf(view.metric)), el('b', {}, quantity(view.metric, figure, view.metric === 'price' ? 2 : 0))) : null,
      el('p', { class: 'summary' }, body.summary),
      body.coverage_note ? el('p', { class: 'note' }, body.coverage_note) : null,
      el('button', { type: 'button', class: 'quiet small', 'data-keep': 'key', on: { click: actions.forget } }, 'Forget my key'),
    ].filter(Boolean));
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    if (!actions.isCurrent()) return;
    replace(place, el('p', { class: 'note' }, refusal(error)),
      el('button', { type: 'button', class: 'quiet small', 'data-keep': 'key', on: { click: actions.forget } }, 'Forget my key'));
  }
}
