// Reads the values of the zones from the free documents: now, or in one of the hours of the slider.

const HOUR = 3600;

/** Returns the newest value of a metric, or null if the zone has none. */
export function newest(properties, metric) {
  if (properties[metric] === null || properties[metric] === undefined) return null;
  const part = (name) => properties[`${metric}_${name}`];
  return { value: properties[metric], unit: part('unit'), ts: part('ts'), percentile: part('percentile'), expectedBy: part('expected_by'), basis: part('basis') };
}

/** Returns the mean of the hour that starts at `ts`. After `now` it is the price of the day-ahead auction, else the operator's
 *  forecast. Null if nothing is known, or if the zone does not have the metric any more. */
export function ofHour(properties, hours, metric, ts, now) {
  const own = hours?.zones[properties.id];
  const unit = properties[`${metric}_unit`] ?? (ts > now ? own?.[`${metric}_unit`] : null);
  if (!own || !unit) return null;
  const place = (ts - own.start) / HOUR;
  const part = (name) => own[`${metric}${name}`]?.[place] ?? null;
  const hour = ts > now ? 'ahead' : 'past';
  const name = hour === 'ahead' && part('_day_ahead') !== null ? '_day_ahead' : '';
  if (part(name) !== null) return { value: part(name), unit, ts, percentile: part(`${name}_percentile`), hour, basis: properties[`${metric}_basis`] };
  if (hour === 'past' || part('_forecast') === null) return null;
  return { value: part('_forecast'), unit, ts, percentile: null, hour, expected: true };
}

/** Returns [start, value] pairs of a series of means; null values stay null. */
export const points = ({ start, step, values }) => values.map((value, i) => [start + i * step, value]);

/** Returns the block of `length` hours with the lowest mean, from the current hour; null if too few hours are known. */
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

/** Returns the end of the known values from the current hour, up to a gap; null if only the current hour is known. */
export function knownUntil(means, now) {
  let until = now;
  for (const [ts, value] of points(means)) {
    if (ts + means.step <= now) continue;
    if (value === null || ts > until) break;
    until = ts + means.step;
  }
  return until > now + means.step ? until : null;
}

/** Returns when a civil day (`2026-11-20`) begins in a time zone, Unix seconds. */
export function midnight(day, tz) {
  const wanted = Date.parse(`${day}T00:00Z`) / 1000;
  const ahead = (ts) => Date.parse(`${new Date(ts * 1000).toLocaleString('sv-SE', { timeZone: tz }).replace(' ', 'T')}Z`) / 1000 - ts;
  return wanted - ahead(wanted - ahead(wanted));
}
