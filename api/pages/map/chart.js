// Draws charts with axes and hover by uPlot. Lines break at gaps.

import { Refused } from './api.js';
import { el } from './dom.js';
import { fuelColour, fuelName } from './plants.js';
import { number, time, unitText } from './words.js';

const HEIGHT = 190;
const SIDE_WIDTH = 480;
const LINES = ['#1f77b4', '#d95f02', '#1b9e77', '#7570b3', '#e7298a', '#66a61e', '#a6761d', '#666666'];

/** Returns a colour for each line. A forecast has the colour of the actual values. */
export function coloursOf(lines) {
  const hueOf = (line) => line.hue ?? line.id;
  const hues = [...new Set(lines.map(hueOf))];
  return lines.map((line) => LINES[hues.indexOf(hueOf(line)) % LINES.length]);
}

let library = null;

/** Loads uPlot once, for the first chart. Rejects if it cannot be loaded; the next chart tries again. */
export function ready() {
  library ??= new Promise((resolve, reject) => {
    const failed = () => { library = null; reject(new Refused(0, 'The service cannot be reached.', null)); };
    const src = new URL('uplot/uPlot.iife.min.js', import.meta.url).href;
    document.head.append(el('script', { src, on: { load: resolve, error: failed } }));
  });
  return library;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Returns an axis of time, and one per unit, which is as wide as its labels. If units differ, each axis has its line's colour. */
function axes(tz, units, series) {
  const colours = { stroke: css('--soft'), grid: { stroke: css('--line'), width: 1 }, ticks: { stroke: css('--line'), width: 1 } };
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  return [
    { ...colours, font, space: 58, size: 32, values: (_, ticks, _axis, _space, step) => ticks.map((ts) => tick(ts, tz, step)) },
    ...units.map((unit, i) => ({
      ...colours, font, scale: unit, side: i ? 1 : 3, size: widthOfLabels, grid: { show: i === 0, stroke: css('--line'), width: 1 },
      stroke: units.length > 1 ? series.find((one) => one.scale === unit).stroke : colours.stroke,
      label: unitText(unit), labelFont: font, labelSize: 16, labelGap: 0,
      values: (_, ticks) => ticks.map((tick) => number(tick, 0)),
    })),
  ];
}

function widthOfLabels(chart, labels, place) {
  const axis = chart.axes[place];
  chart.ctx.font = axis.font[0];
  const widest = Math.max(0, ...(labels ?? []).map((label) => chart.ctx.measureText(label).width));
  return Math.ceil(widest / uPlot.pxRatio + axis.ticks.size + axis.gap);
}

/** Returns `16 Nov` for days and midnights, `14:00` for other hours, in the zone's civil time. */
function tick(ts, tz, step) {
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: tz }).format(ts * 1000);
  if (step < 86400 && clock !== '00:00') return clock;
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: tz }).format(ts * 1000);
}

const heightOf = (width) => Math.round(Math.max(HEIGHT, Math.min(width * 0.5, innerHeight * 0.5) * (width > SIDE_WIDTH)));
const widthOf = (place) => Math.max(240, place.clientWidth);

function options(width, tz, units, series, more = {}) {
  return {
    width, height: heightOf(width), tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), tz),
    cursor: { drag: { x: true, y: false, dist: 5 } }, legend: { live: true },
    axes: axes(tz, units, series), ...more,
    series: [{ label: 'Time', value: (_, ts) => (ts === null || ts === undefined ? '–' : time(ts, tz)) }, ...series],
  };
}

/** Puts a chart into `place` and adapts its width. `said` describes it to screen readers. */
function put(place, opts, data, said) {
  const holder = el('div', { class: 'chart', role: 'img', 'aria-label': said });
  place.replaceChildren(holder);
  const chart = new uPlot(opts, data, holder);
  const observer = new ResizeObserver(() => {
    const width = widthOf(place);
    if (!holder.isConnected) {
      observer.disconnect();
      chart.destroy();
    } else if (Math.abs(width - chart.width) > 1) chart.setSize({ width, height: heightOf(width) });
  });
  observer.observe(place);
  atRest(chart);
  return chart;
}

/** Shows in the legend, without a pointer over the chart, the newest value of the first line that has one, and the others then. */
function atRest(chart) {
  const [stamps, ...lines] = chart.data;
  const first = lines.find((line) => line.some((value) => value !== null)) ?? [];
  const idx = stamps.findLastIndex((_, i) => first[i] !== null && first[i] !== undefined);
  const rest = () => chart.setLegend({ idx: idx < 0 ? null : idx });
  chart.over.addEventListener('mouseleave', () => setTimeout(rest));
  // uPlot fills its legend after this task.
  setTimeout(rest);
}

/** Draws lines over time into `place`. `lines`: [{id, label, kind, unit, points: [[ts, value]]}]; a forecast is dashed, in the
 *  colour of its zone; two units have an axis each. `shade`: {start, end} of a highlighted block. */
export function drawLines(place, { tz, lines, said, now, shade }) {
  const { opts, data } = linesAs(widthOf(place), { tz, lines, now, shade });
  return put(place, opts, data, said);
}

/** Draws the same chart for an image file that is `width` pixels wide. */
export async function drawn(chart, width) {
  const { opts, data } = linesAs(width / uPlot.pxRatio, chart);
  const holder = el('div', { class: 'chart', hidden: true });
  document.body.append(holder);
  const large = new uPlot({ ...opts, height: opts.width / 2 }, data, holder);
  // uPlot draws after this task.
  await new Promise((resolve) => { setTimeout(resolve); });
  holder.remove();
  return large;
}

function linesAs(width, { tz, lines, now, shade }) {
  const stamps = [...new Set(lines.flatMap((line) => line.points.map(([ts]) => ts)))].sort((a, b) => a - b);
  const units = [...new Set(lines.map((line) => line.unit))];
  const colours = coloursOf(lines);
  const data = [stamps, ...lines.map((line) => {
    const known = new Map(line.points);
    // If another line has finer steps, a value is shown until its own step ends.
    return stamps.map((ts) => known.get(ts) ?? (line.step ? known.get(ts - (ts % line.step)) : null) ?? null);
  })];
  const series = lines.map((line, i) => ({
    label: line.label, scale: line.unit, stroke: colours[i], width: 2, dash: line.kind === 'forecast' ? [5, 4] : undefined, points: { show: false }, spanGaps: false,
    paths: uPlot.paths.stepped({ align: 1 }), value: (_, value) => (value === null ? '–' : `${number(value, line.digits ?? 0)} ${unitText(line.unit)}`),
  }));
  const hooks = { drawClear: [(chart) => fill(chart, shade)], draw: [(chart) => mark(chart, now), (chart) => zero(chart, units[0])] };
  return { opts: options(width, tz, units, series, { hooks }), data };
}

/** Shades a block of hours behind the lines. */
function fill(chart, shade) {
  const { min, max } = chart.scales.x;
  if (!shade || shade.end <= min || shade.start >= max) return;
  const [from, to] = [Math.max(min, shade.start), Math.min(max, shade.end)].map((ts) => chart.valToPos(ts, 'x', true));
  chart.ctx.fillStyle = css('--shaded');
  chart.ctx.fillRect(from, chart.bbox.top, to - from, chart.bbox.height);
}

/** Marks the present if the chart extends beyond it. */
function mark(chart, now) {
  const { min, max } = chart.scales.x;
  if (!now || now <= min || now >= max) return;
  stroke(chart, [[chart.valToPos(now, 'x', true), chart.bbox.top], [chart.valToPos(now, 'x', true), chart.bbox.top + chart.bbox.height]]);
}

function zero(chart, unit) {
  const { min, max } = chart.scales[unit];
  if (min >= 0 || max <= 0) return;
  const y = chart.valToPos(0, unit, true);
  stroke(chart, [[chart.bbox.left, y], [chart.bbox.left + chart.bbox.width, y]]);
}

function stroke(chart, [[x1, y1], [x2, y2]]) {
  const { ctx } = chart;
  ctx.save();
  ctx.strokeStyle = css('--soft');
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
  ctx.restore();
}

/** Draws the parts of the mix stacked, the largest at the bottom. A step without every part stays empty. */
export function drawStack(place, tz, mix, said) {
  const total = (values) => values.reduce((sum, value) => sum + Math.max(0, value ?? 0), 0);
  const fuels = Object.keys(mix.parts).filter((fuel) => total(mix.parts[fuel]) > 0).sort((a, b) => total(mix.parts[b]) - total(mix.parts[a]));
  const stamps = mix.parts[fuels[0]].map((_, i) => mix.start + i * mix.step);
  const sums = stamps.map((_, i) => {
    let sum = 0;
    return fuels.map((fuel) => (mix.parts[fuel][i] === null ? null : (sum += Math.max(0, mix.parts[fuel][i]))));
  });
  // uPlot fills from a line down to the axis: the highest sum is drawn first.
  const order = fuels.map((_, i) => i).reverse();
  const data = [stamps, ...order.map((part) => sums.map((step) => step[part]))];
  const series = order.map((part) => ({
    label: fuelName(fuels[part]), scale: mix.unit, fill: fuelColour(fuels[part]), stroke: fuelColour(fuels[part]), width: 0, points: { show: false },
    paths: uPlot.paths.stepped({ align: 1 }),
    value: (chart, _value, _series, at) => {
      const value = at === null ? null : mix.parts[fuels[part]][at];
      return value === null || value === undefined ? '–' : `${number(value, 0)} ${mix.unit}`;
    },
  }));
  // Stacked areas compare from zero on.
  const scales = { [mix.unit]: { range: (_, _low, high) => [0, 1.05 * high] } };
  return put(place, options(widthOf(place), tz, [mix.unit], series, { scales }), data, said);
}
