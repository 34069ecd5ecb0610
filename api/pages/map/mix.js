// The mix of the newest whole hour as bars, the largest fuel first. Storage that charges has a pale bar and a minus.

import { el } from './dom.js';
import { fuelColour, fuelName } from './plants.js';
import { number, time } from './words.js';

/** The last step in which every fuel has a value that had one a day before; -1 where there is none. */
function wholeStep({ step, parts }) {
  const day = 86400 / step;
  const series = Object.values(parts);
  return series[0].findLastIndex((_, i) => series.some((values) => values[i] !== null)
    && series.every((values) => values[i] !== null || (values[i - day] ?? null) === null));
}

/** A heading and a list for the mix of a zone's free document; null where no hour is whole. */
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
