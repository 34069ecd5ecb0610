// Colours by percentile: each zone among its own last 30 days, so that currencies and sizes do not mix.

// ColorBrewer RdYlBu, five classes, reversed; told apart with colour-blind eyes. Between the stops: straight lines in sRGB.
export const STOPS = [[0, [44, 123, 182]], [25, [171, 217, 233]], [50, [255, 255, 191]], [75, [253, 174, 97]], [100, [215, 25, 28]]];
export const NO_FIGURE = 'url(#hatch)';

function channels(percentile) {
  const after = STOPS.findIndex(([at]) => at >= percentile);
  if (after <= 0) return STOPS[0][1];
  const [low, from] = STOPS[after - 1];
  const [high, to] = STOPS[after];
  const part = (percentile - low) / (high - low);
  return from.map((channel, i) => Math.round(channel + (to[i] - channel) * part));
}

/** `#rrggbb` for a percentile of 0 to 100; a hatch where there is none. */
export function colourOf(percentile) {
  if (percentile === null || percentile === undefined) return NO_FIGURE;
  return `#${channels(percentile).map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** Whether white letters read better than black ones on that colour (WCAG relative luminance). */
export function isDark(percentile) {
  if (percentile === null || percentile === undefined) return false;
  const [r, g, b] = channels(percentile).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179;
}
