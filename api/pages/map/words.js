// Numbers, times and ranks in words.

const METRICS = {
  price: { name: 'Price', label: 'local currency per MWh', digits: 2 },
  demand: { name: 'Demand', label: 'GW', digits: 0 },
  interchange: { name: 'Net import', label: 'GW, + = into the zone', digits: 0 },
  carbon_intensity: { name: 'Carbon intensity', label: 'gCO₂/kWh', digits: 0 },
};

export const nameOf = (metric) => METRICS[metric]?.name ?? metric;
export const labelUnit = (metric) => METRICS[metric].label;

export function number(value, digits) {
  // A true minus sign is as wide as the digits.
  return new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value).replace('-', '−');
}

const signed = (metric, value, text) => (metric === 'interchange' && value > 0 ? `+${text}` : text);
export const unitText = (unit) => unit.replace('gCO2', 'gCO₂');

/** `54.20 EUR/MWh`, `31,240 MW`. */
export function quantity(metric, { value, unit }) {
  return `${signed(metric, value, number(value, METRICS[metric]?.digits ?? 1))} ${unitText(unit)}`;
}

/** What fits into a zone on the map: `54`, `31.2`. */
export function short(metric, { value, unit }) {
  const inGw = unit === 'MW';
  const shown = inGw ? value / 1000 : value;
  const digits = inGw || Math.abs(shown) < 10 ? 1 : 0;
  return signed(metric, value, number(shown, digits)).replace('−0.0', '0.0').replace('+0.0', '0.0');
}

export function rank(percentile) {
  if (percentile === null || percentile === undefined) return 'too little history to rank';
  if (percentile === 0) return 'below everything in its last 30 days';
  if (percentile === 100) return 'above everything in its last 30 days';
  return `higher than ${percentile}% of its last 30 days`;
}

export function time(ts, tz, withDay = true) {
  const day = withDay ? { weekday: 'short', day: 'numeric', month: 'short' } : {};
  return new Intl.DateTimeFormat('en-GB', { ...day, hour: '2-digit', minute: '2-digit', timeZone: tz, timeZoneName: 'short' })
    .format(ts * 1000);
}

/** `4 min ago`, `3 h ago`, `2 d ago`. */
export function ago(ts, now) {
  const seconds = Math.max(0, now - ts);
  if (seconds < 90) return 'just now';
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/** What a refusal means to a reader of the page. */
export function refusal(error) {
  if (error.status === 429) {
    const wait = error.wait > 90 ? `${Math.ceil(error.wait / 60)} minutes` : `${error.wait ?? 60} seconds`;
    return `The free calls of your address are used up; more in ${wait}. A free key has its own 500 a day.`;
  }
  return error.message;
}
