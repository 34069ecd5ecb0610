// Shows the mix of the newest complete hour as bars, the largest fuel first. Charging storage has a pale bar and a minus.

import { el } from './dom.js';
import { cheapest, midnight, points } from './figures.js';
import { fuelColour, fuelName } from './plants.js';
import { number, time } from './words.js';

/** Returns the last step in which every fuel has a value that had one a day before, or -1. */
function wholeStep({ step, parts }) {
  const day = 86400 / step;
  const series = Object.values(parts);
  return series[0].findLastIndex((_, i) => series.some((values) => values[i] !== null)
    && series.every((values) => values[i] !== null || (values[i - day] ?? null) === null));
}

const DAY = 86400;

/** Returns a sentence on tomorrow's forecast share of wind and solar in demand; null unless every hour of the day is known. */
export function tomorrow(shares, now, tz) {
  const day = (days) => new Date(Date.parse(new Date(now * 1000).toLocaleDateString('sv-SE', { timeZone: tz })) + days * DAY * 1000).toISOString().slice(0, 10);
  const [begin, end] = [midnight(day(1), tz), midnight(day(2), tz)];
  const values = points(shares).filter(([ts]) => ts >= begin && ts < end).map(([, value]) => value);
  if (values.length < (end - begin) / shares.step || values.includes(null)) return null;
  const best = cheapest({ start: begin, step: shares.step, values: values.map((value) => -value) }, begin, 3);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return `Wind and solar tomorrow: about ${number(mean, 0)}% of demand by operator forecast, highest from ${time(best.start, tz, false)} to ${time(best.end, tz, false)} (${number(-best.mean, 0)}%).`;
}

/** Returns a heading and a list for the mix of a zone's free document, or null if no hour is complete. */
export function bars(mix, tz) {
  const at = wholeStep(mix);
  if (at < 0) return null;
  const values = Object.entries(mix.parts).map(([fuel, steps]) => [fuel, steps[at]]).filter(([, value]) => value);
  const largest = Math.max(...values.map(([, value]) => Math.abs(value)));
  const items = values.toSorted(([, a], [, b]) => b - a).map(([fuel, value]) => {
    const bar = el('i', { class: value < 0 ? 'charging' : null, 'aria-hidden': 'true' });
    bar.style.width = `${(100 * Math.abs(value)) / largest}%`;
    bar.style.background = fuelColour(fuel);
    return el('li', {}, el('span', {}, fuelName(fuel)), el('span', { class: 'bar' }, bar), el('b', {}, number(value, 0)));
  });
  return el('div', {}, el('h3', {}, `Generation mix, ${mix.unit}, hour from ${time(mix.start + at * mix.step, tz, false)}`), el('ul', { class: 'mix' }, items));
}
