// What a chart shows as a file: CSV of its numbers, PNG of its picture, each with source and licence.

function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** One row a time and line: ts, time in UTC, zone, value, unit, whether rounded, licence, attribution. */
export function csv(name, lines, terms) {
  const rows = lines.flatMap((line) => line.points.filter(([, value]) => value !== null).map(([ts, value]) =>
    [ts, new Date(ts * 1000).toISOString().replace('.000', ''), line.label, value, line.unit, !line.exact, terms.license, terms.attribution]));
  const table = [['ts', 'time', 'series', 'value', 'unit', 'rounded', 'license', 'attribution'], ...rows];
  save(`${name}.csv`, new Blob([table.map((row) => row.map((cell) => quoted(String(cell))).join(',')).join('\r\n'), '\r\n'], { type: 'text/csv' }));
}

/** The chart on the page's own background, its title above, the attribution below. */
export function png(name, chart, title, terms) {
  const source = chart.ctx.canvas;
  const scale = window.devicePixelRatio || 1;
  const canvas = document.createElement('canvas');
  canvas.width = source.width;
  canvas.height = source.height + 60 * scale;
  const ctx = canvas.getContext('2d');
  const style = getComputedStyle(document.documentElement);
  ctx.fillStyle = style.getPropertyValue('--paper');
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(source, 0, 32 * scale);
  ctx.fillStyle = style.getPropertyValue('--ink');
  ctx.font = `600 ${14 * scale}px system-ui, sans-serif`;
  ctx.fillText(title, 10 * scale, 21 * scale, canvas.width - 20 * scale);
  ctx.font = `${10 * scale}px system-ui, sans-serif`;
  ctx.fillText(terms.attribution, 10 * scale, canvas.height - 10 * scale, canvas.width - 20 * scale);
  canvas.toBlob((blob) => save(`${name}.png`, blob));
}
