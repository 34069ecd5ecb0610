// One zone in the side panel: its newest values, their rank, a line of the last hours, and the brief in words.

import * as api from './api.js';
import { el } from './dom.js';
import { fuelColour, fuelName } from './plants.js';
import { sparkline } from './sparkline.js';
import { nameOf, number, quantity, rank, refusal, time, unitText } from './words.js';

const HOURS = 50;
const METRICS = ['price', 'demand', 'interchange', 'carbon_intensity'];

/** The panel at once, with what the map knows; `filled` asks for the rest. */
export function frame(zone, metric, shown, onClose) {
  const close = el('button', { type: 'button', class: 'quiet close', 'aria-label': 'Close and show all zones', on: { click: onClose } }, '×');
  return [
    el('div', { class: 'brief-head' }, el('div', {}, el('p', { class: 'id' }, zone.id), el('h2', { id: 'brief-title' }, zone.name)), close),
    headline(zone, metric, shown),
    zone.note ? el('p', { class: 'note' }, zone.note) : null,
    el('div', { class: 'brief-history' }, el('p', { class: 'note' }, 'Loading the last hours …')),
    el('div', { class: 'brief-rest' }, el('p', { class: 'note' }, 'Loading the brief …')),
  ].filter(Boolean);
}

function headline(zone, metric, shown) {
  if (!shown) return el('p', { class: 'headline none' }, `${nameOf(metric)} is not published here.`);
  return el('div', { class: 'headline' },
    el('p', { class: 'value' }, el('span', {}, nameOf(metric)), el('strong', {}, quantity(metric, shown))),
    rankBar(shown.percentile),
    el('p', { class: 'note' }, `${capital(rank(shown.percentile))}. Interval starting ${time(shown.ts, zone.tz)}.`));
}

/** A bar of 0 to 100 with the zone's place on it; the words beside it say the same. */
export function rankBar(percentile) {
  const known = percentile !== null && percentile !== undefined;
  const bar = el('span', { class: known ? 'rank' : 'rank unknown', 'aria-hidden': 'true' }, known ? el('i') : null);
  if (known) bar.firstChild.style.left = `${percentile}%`;
  return bar;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Puts the hours and the brief into the frame, each as it comes. */
export async function filled(panel, zone, metric, shown, now) {
  await Promise.all([history(panel.querySelector('.brief-history'), zone, metric, shown, now), rest(panel.querySelector('.brief-rest'), zone)]);
}

async function history(place, zone, metric, shown, now) {
  if (!shown) {
    place.replaceChildren();
    return;
  }
  // Whole hours: the sample keeps 50 rows.
  const end = now - (now % 3600) + 3600;
  place.replaceChildren(await api.hourly(metric, zone.id, end, HOURS).then(
    ({ body }) => sparkline(metric, body, zone.tz), (error) => el('p', { class: 'note' }, refusal(error))));
}

async function rest(place, zone) {
  try {
    const { body, stale } = await api.brief(zone.id);
    place.replaceChildren(...told(body, stale, zone));
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    place.replaceChildren(el('p', { class: 'note' }, refusal(error)));
  }
}

function told(body, stale, zone) {
  return [
    stale ? el('p', { class: 'badge late' }, 'Overdue: newer figures should be out.') : null,
    el('p', { class: 'summary' }, body.summary),
    current(body, zone),
    ...Object.entries(body.context).map(([metric, block]) => context(metric, block)),
    mix(body),
    body.coverage_note ? el('p', { class: 'note' }, body.coverage_note) : null,
    el('p', { class: 'note' }, `${body.attribution} Licence: ${body.license}`),
    el('p', { class: 'note' }, el('a', { href: `${api.briefAddress(zone.id)}?sample=true` }, 'This brief as JSON')),
  ].filter(Boolean);
}

function current(body, zone) {
  const known = METRICS.filter((metric) => body.current[metric]);
  return el('dl', { class: 'current' }, known.map((metric) => {
    const trend = body.trend_24h[metric];
    const change = trend ? `, ${trend.direction} in 24 h` : '';
    return el('div', {}, el('dt', {}, nameOf(metric)),
      el('dd', {}, quantity(metric, body.current[metric]), el('small', {}, `${time(body.current[metric].ts, zone.tz, false)}${change}`)));
  }));
}

function context(metric, block) {
  const digits = metric === 'price' ? 2 : 0;
  const figure = (value) => `${number(value, digits)} ${unitText(block.unit)}`;
  return el('dl', { class: 'context' },
    el('div', { class: 'wide' }, el('dt', {}, `${nameOf(metric)}, last ${number(block.window_days_actual, 0)} days`), el('dd', {}, `${number(block.sample_count, 0)} values`)),
    ...[['Median', block.median], ['Lowest', block.min], ['Highest', block.max]].map(([name, value]) =>
      el('div', {}, el('dt', {}, name), el('dd', {}, figure(value)))));
}

function mix(body) {
  const parts = Object.entries(body.generation_mix ?? {}).filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
  if (!parts.length) return null;
  const most = parts[0][1];
  return el('section', { class: 'mix', 'aria-label': 'Generation mix' }, el('h3', {}, 'Generation mix'), el('ul', {}, parts.map(([fuel, value]) => {
    const bar = el('i', { 'aria-hidden': 'true' });
    bar.style.width = `${(value / most) * 100}%`;
    bar.style.background = fuelColour(fuel);
    return el('li', {}, el('span', {}, fuelName(fuel)), el('span', { class: 'track' }, bar),
      el('b', {}, `${number(value, body.generation_mix_unit === '%' ? 1 : 0)} ${body.generation_mix_unit}`));
  })));
}
