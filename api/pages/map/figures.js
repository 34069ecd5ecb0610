// The figures of the zones, now or in one of the last 48 hours, from the free documents.

const HOUR = 3600;

/** The newest figure of a metric, or null where the zone has none. */
export function newest(properties, metric) {
  if (properties[metric] === null || properties[metric] === undefined) return null;
  const part = (name) => properties[`${metric}_${name}`];
  return { value: properties[metric], unit: part('unit'), ts: part('ts'), percentile: part('percentile'), expectedBy: part('expected_by'), basis: part('basis') };
}

/** The mean of the hour that starts at `ts`; of one ahead the price that an auction has fixed, else what the operator expects.
 *  Null where nothing is known, or where the zone has no such metric any more. */
export function ofHour(properties, hours, metric, ts, now) {
  const own = hours?.zones[properties.id];
  const unit = properties[`${metric}_unit`];
  if (!own || !unit) return null;
  const place = (ts - own.start) / HOUR;
  const part = (name) => own[`${metric}${name}`]?.[place] ?? null;
  const hour = ts > now ? 'ahead' : 'past';
  if (part('') !== null) return { value: part(''), unit, ts, percentile: part('_percentile'), hour, basis: properties[`${metric}_basis`] };
  if (hour === 'past' || part('_forecast') === null) return null;
  return { value: part('_forecast'), unit, ts, percentile: null, hour, expected: true };
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

/** When a civil day (`2026-11-20`) begins in a time zone, Unix seconds. */
export function midnight(day, tz) {
  const wanted = Date.parse(`${day}T00:00Z`) / 1000;
  const ahead = (ts) => Date.parse(`${new Date(ts * 1000).toLocaleString('sv-SE', { timeZone: tz }).replace(' ', 'T')}Z`) / 1000 - ts;
  return wanted - ahead(wanted - ahead(wanted));
}
