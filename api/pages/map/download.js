// Saves a chart as a file: its numbers as CSV, its image as PNG, both with source and licence of every line.

import { coloursOf } from './chart.js';

function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Saves a table as a CSV file. `rows` start with the names of the columns. */
function table(name, rows) {
  save(`${name}.csv`, new Blob([rows.map((row) => row.map((cell) => quoted(String(cell))).join(',')).join('\r\n'), '\r\n'], { type: 'text/csv' }));
}

const utc = (ts) => new Date(ts * 1000).toISOString().replace('.000', '');

/** Saves one row per time and line. `kind` is `actual` or `forecast`. */
export function csv(name, lines) {
  const rows = lines.flatMap((line) => line.points.filter(([, value]) => value !== null).map(([ts, value]) =>
    [ts, utc(ts), line.id, line.metric, line.kind, value, line.unit, !line.exact, line.license, line.attribution]));
  table(name, [['ts', 'time', 'zone', 'metric', 'kind', 'value', 'unit', 'rounded', 'license', 'attribution'], ...rows]);
}

const kindOf = ({ expected, basis }) => (expected ? 'forecast' : basis === 'estimate' ? 'estimate' : 'actual');

/** Saves one row per zone that has a value. `kind` is `actual`, `forecast` or `estimate`. */
export function zonesCsv(name, metric, zones, figures) {
  const rows = [...figures].map(([id, figure]) => {
    const zone = zones.get(id);
    const { ts, value, unit, percentile } = figure;
    return [ts, utc(ts), id, zone.name, metric, kindOf(figure), value, unit, percentile ?? '', true, zone.license, zone.attribution];
  });
  table(name, [['ts', 'time', 'zone', 'name', 'metric', 'kind', 'value', 'unit', 'percentile', 'rounded', 'license', 'attribution'], ...rows]);
}

const MARGIN = 10;
const ROW = 16;

/** Saves the chart on the page's background, with the title and the name of each line above it and their terms below it. */
export function png(name, chart, title, lines) {
  const source = chart.ctx.canvas;
  const scale = window.devicePixelRatio || 1;
  const width = source.width / scale;
  const canvas = document.createElement('canvas');
  const ctx = canvas.getContext('2d');
  const small = '10px system-ui, sans-serif';
  ctx.font = small;
  const terms = termsOf(lines).flatMap((text) => wrapped(ctx, text, width - 2 * MARGIN));
  const top = 32 + ROW * lines.length;
  canvas.width = source.width;
  canvas.height = source.height + (top + ROW * terms.length + MARGIN) * scale;
  const style = getComputedStyle(document.documentElement);
  ctx.fillStyle = style.getPropertyValue('--paper');
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(source, 0, top * scale);
  ctx.scale(scale, scale);
  const write = (font, colour, text, y) => { ctx.font = font; ctx.fillStyle = colour; ctx.fillText(text, MARGIN, y, width - 2 * MARGIN); };
  const ink = style.getPropertyValue('--ink');
  write('600 14px system-ui, sans-serif', ink, title, 21);
  const colours = coloursOf(lines);
  for (const [i, line] of lines.entries()) write('600 11px system-ui, sans-serif', colours[i], `${line.label} (${line.unit}${line.kind === 'forecast' ? ', dashed' : ''})`, 40 + ROW * i);
  for (const [i, text] of terms.entries()) write(small, ink, text, top + source.height / scale + ROW * (i + 0.7));
  canvas.toBlob((blob) => save(`${name}.png`, blob));
}

/** Returns the terms of the lines, once if all share them. */
function termsOf(lines) {
  const own = new Map(lines.map((line) => [line.id, `${line.attribution} Licence: ${line.license}.`]));
  return new Set(own.values()).size === 1 ? [own.values().next().value] : [...own].map(([id, text]) => `${id}: ${text}`);
}

/** Returns a text as lines that fit into a width. */
function wrapped(ctx, text, width) {
  const rows = [''];
  for (const word of text.split(' ')) {
    const longer = rows.at(-1) ? `${rows.at(-1)} ${word}` : word;
    if (rows.at(-1) && ctx.measureText(longer).width > width) rows.push(word);
    else rows[rows.length - 1] = longer;
  }
  return rows;
}
