// Colours zones by rank within their past 30 days, or by value. Between two stops, colours are linear in sRGB.

// ColorBrewer RdYlBu, reversed; safe for colour-blind readers.
const RANK = [[0, '#2c7bb6'], [25, '#abd9e9'], [50, '#ffffbf'], [75, '#fdae61'], [100, '#d7191c']];
// Values in the unit of the API. Net import diverges around zero: ColorBrewer PuOr; demand: YlGnBu.
const VALUES = {
  price: { stops: [[-50, '#2c7bb6'], [0, '#abd9e9'], [60, '#ffffbf'], [120, '#fdae61'], [250, '#d7191c']], ends: ['−50', '60', '250'] },
  demand: { stops: [[0, '#ffffd9'], [5000, '#c7e9b4'], [20000, '#41b6c4'], [50000, '#225ea8'], [100000, '#081d58']], ends: ['0', '20', '100 GW'] },
  interchange: {
    stops: [[-12000, '#b35806'], [-4000, '#f1a340'], [-1000, '#fee0b6'], [0, '#f7f7f7'], [1000, '#d8daeb'], [4000, '#998ec3'], [12000, '#542788']],
    ends: ['export 12', '0', 'import 12 GW'],
  },
  carbon: { stops: [[0, '#2a9d5c'], [100, '#a6d96a'], [250, '#ffffbf'], [450, '#d8854f'], [700, '#5a3a2a']], ends: ['0', '250', '700 g'] },
};
export const NO_FIGURE = 'url(#hatch)';

const channels = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

function between(stops, value) {
  const after = stops.findIndex(([at]) => at >= value);
  if (after === 0) return channels(stops[0][1]);
  if (after < 0) return channels(stops.at(-1)[1]);
  const [low, from] = stops[after - 1];
  const [high, to] = stops[after];
  const part = (value - low) / (high - low);
  const target = channels(to);
  return channels(from).map((channel, i) => Math.round(channel + (target[i] - channel) * part));
}

/** Returns the number that decides the colour of a value: its rank, or the value itself. Null: no colour. */
function measure(figure, colours) {
  return (colours === 'rank' ? figure?.percentile : figure?.value) ?? null;
}

const stopsOf = (metric, colours) => (colours === 'rank' ? RANK : VALUES[metric].stops);

/** Returns `#rrggbb`, or a hatch if there is nothing to colour by. */
export function colourOf(figure, metric, colours) {
  const value = measure(figure, colours);
  if (value === null) return NO_FIGURE;
  return `#${between(stopsOf(metric, colours), value).map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** Returns whether white letters read better than black ones on that colour (WCAG relative luminance). */
export function isDark(figure, metric, colours) {
  const value = measure(figure, colours);
  if (value === null) return false;
  const [r, g, b] = between(stopsOf(metric, colours), value).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179;
}

/** Returns the legend's gradient, and the words at its start, middle and end. */
export function legend(metric, colours) {
  const stops = stopsOf(metric, colours);
  const gradient = `linear-gradient(90deg in srgb, ${stops.map(([, colour]) => colour).join(', ')})`;
  return { gradient, ends: colours === 'rank' ? ['lowest', '', 'highest'] : VALUES[metric].ends };
}
