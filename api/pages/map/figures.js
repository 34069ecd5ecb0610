// The figures of the zones, now or in one of the last 48 hours, from the free documents.

const HOUR = 3600;

/** The newest figure of a metric, or null where the zone has none. */
export function newest(properties, metric) {
  if (properties[metric] === null || properties[metric] === undefined) return null;
  const part = (name) => properties[`${metric}_${name}`];
  return { value: properties[metric], unit: part('unit'), ts: part('ts'), percentile: part('percentile'), expectedBy: part('expected_by') };
}

/** The mean of the hour that starts at `ts`; null where nothing is known, or where the zone has no such metric any more. */
export function ofHour(properties, hours, metric, ts) {
  const own = hours?.zones[properties.id];
  const value = own?.[metric]?.[(ts - own.start) / HOUR];
  const unit = properties[`${metric}_unit`];
  if (value === null || value === undefined || !unit) return null;
  return { value, unit, ts, percentile: null, past: true };
}

/** [start, value] pairs of a series of means; null values stay null. */
export const points = ({ start, step, values }) => values.map((value, i) => [start + i * step, value]);

/** The block of `length` hours with the lowest mean among the hours from `now` on; null where too few are known. */
export function cheapest(means, now, length) {
  const ahead = points(means).filter(([ts]) => ts + means.step > now);
  let best = null;
  for (let i = 0; i + length <= ahead.length; i += 1) {
    const block = ahead.slice(i, i + length);
    if (block.some(([, value]) => value === null)) continue;
    const mean = block.reduce((sum, [, value]) => sum + value, 0) / length;
    if (best === null || mean < best.mean) best = { start: block[0][0], end: block.at(-1)[0] + means.step, mean };
  }
  return ahead.length >= 2 * length ? best : null;
}

/** Until when prices are known from `now` on without a gap; null where nothing behind the running interval is. */
export function knownUntil(means, now) {
  let until = now;
  for (const [ts, value] of points(means)) {
    if (ts + means.step <= now) continue;
    if (value === null || ts > until) break;
    until = ts + means.step;
  }
  return until > now + means.step ? until : null;
}
