// What a chart shows as a file: CSV of its numbers, PNG of its picture, each with source and licence of every line.

import { colourOf } from './chart.js';

function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** One row a time and line: ts, time in UTC, zone, value, unit, whether rounded, licence, attribution. */
export function csv(name, lines) {
  const rows = lines.flatMap((line) => line.points.filter(([, value]) => value !== null).map(([ts, value]) =>
    [ts, new Date(ts * 1000).toISOString().replace('.000', ''), line.label, value, line.unit, !line.exact, line.license, line.attribution]));
  const table = [['ts', 'time', 'series', 'value', 'unit', 'rounded', 'license', 'attribution'], ...rows];
  save(`${name}.csv`, new Blob([table.map((row) => row.map((cell) => quoted(String(cell))).join(',')).join('\r\n'), '\r\n'], { type: 'text/csv' }));
}

const MARGIN = 10;
const ROW = 16;

/** The chart on the page's own background: above it the title and the name of each line in its colour, below it their terms. */
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
  for (const [i, line] of lines.entries()) write('600 11px system-ui, sans-serif', colourOf(i), line.label, 40 + ROW * i);
  for (const [i, text] of terms.entries()) write(small, ink, text, top + source.height / scale + ROW * (i + 0.7));
  canvas.toBlob((blob) => save(`${name}.png`, blob));
}

/** The terms of the lines; once where all share them. */
function termsOf(lines) {
  const own = lines.map((line) => `${line.attribution} Licence: ${line.license}.`);
  return new Set(own).size === 1 ? [own[0]] : own.map((text, i) => `${lines[i].label}: ${text}`);
}

/** A text as lines that fit into a width. */
function wrapped(ctx, text, width) {
  const rows = [''];
  for (const word of text.split(' ')) {
    const longer = rows.at(-1) ? `${rows.at(-1)} ${word}` : word;
    if (rows.at(-1) && ctx.measureText(longer).width > width) rows.push(word);
    else rows[rows.length - 1] = longer;
  }
  return rows;
}
