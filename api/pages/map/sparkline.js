// A small line of hourly means. What is missing stays missing: the line breaks, nothing is drawn across a gap.

import { el, svg } from './dom.js';
import { nameOf, quantity, time } from './words.js';

const WIDTH = 340;
const HEIGHT = 84;
const HOUR = 3600;

/** A figure of the rows of a series answer, its span and extremes said. */
export function sparkline(metric, body, tz) {
  const rows = body.data;
  if (rows.length < 2) return el('p', { class: 'note' }, 'No hourly history to draw.');
  const span = rows.at(-1).ts + HOUR - rows[0].ts;
  const values = rows.map((row) => row.value);
  const low = rows[values.indexOf(Math.min(...values))];
  const high = rows[values.indexOf(Math.max(...values))];
  const said = `${nameOf(metric)}, hourly means, ${Math.round(span / HOUR)} hours: ${time(rows[0].ts, tz)} to ${time(rows.at(-1).ts + HOUR, tz)}`;
  return el('figure', { class: 'spark' },
    drawing(rows, low.value, high.value, `${said}. Lowest ${quantity(metric, low)}, highest ${quantity(metric, high)}.`),
    el('figcaption', {}, said, el('span', { class: 'extremes' },
      `lowest ${quantity(metric, low)} (${time(low.ts, tz, false)}), highest ${quantity(metric, high)} (${time(high.ts, tz, false)})`)));
}

function drawing(rows, low, high, label) {
  const first = rows[0].ts;
  const span = rows.at(-1).ts - first || 1;
  // Zero stands in the picture only where values reach it: a price of 80 to 90 would be a flat line above it.
  const room = (high - low) * 0.08 || 1;
  const x = (ts) => 3 + ((ts - first) / span) * (WIDTH - 9);
  const y = (value) => HEIGHT - 4 - ((value - low + room) / (high - low + 2 * room)) * (HEIGHT - 8);
  const last = rows.at(-1);
  return svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none' },
    low < 0 && high > 0 ? svg('line', { class: 'zero', x1: 0, x2: WIDTH, y1: y(0), y2: y(0) }) : null,
    ...runs(rows).map((run) => svg('polygon', { points: [[run[0].ts, HEIGHT], ...run.map((row) => [row.ts, y(row.value)]), [run.at(-1).ts, HEIGHT]]
      .map(([ts, down]) => `${x(ts).toFixed(1)},${(+down).toFixed(1)}`).join(' ') })),
    ...runs(rows).map((run) => svg('polyline', { points: run.map((row) => `${x(row.ts).toFixed(1)},${y(row.value).toFixed(1)}`).join(' ') })),
    // A dot that stays round however the drawing is stretched.
    svg('path', { class: 'dot', d: `M${x(last.ts).toFixed(1)} ${y(last.value).toFixed(1)}h0` }));
}

/** Stretches of rows without a missing hour. */
function runs(rows) {
  const found = [[rows[0]]];
  for (let i = 1; i < rows.length; i += 1) {
    if (rows[i].ts - rows[i - 1].ts > HOUR) found.push([]);
    found.at(-1).push(rows[i]);
  }
  return found;
}
