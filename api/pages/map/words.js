// Formats numbers, times, ranks and errors as text.

const METRICS = {
  price: { name: 'Price', label: 'per MWh' },
  demand: { name: 'Demand', label: 'GW' },
  interchange: { name: 'Net import', label: 'GW, + = into the zone' },
  carbon: { name: 'Carbon intensity', label: 'gCO₂/kWh' },
};

/** Returns the text for a zone without a value of a metric, in one hour or at any time. */
export const absence = (zone, metric, at) => (at && zone[`${metric}_unit`] ? 'no data for this hour' : 'no data');
export const nameOf = (metric) => METRICS[metric]?.name ?? metric;
export const labelUnit = (metric) => METRICS[metric].label;

export function number(value, digits) {
  // A true minus sign is as wide as the digits.
  return new Intl.NumberFormat('en', { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value).replace('-', '−');
}

export const signed = (metric, value, text) => (metric === 'interchange' && value > 0 ? `+${text}` : text);
export const unitText = (unit) => unit.replace('gCO2', 'gCO₂');

/** Returns `54 EUR/MWh` or `31,200 MW`; `digits` are the decimals of exact values. */
export const quantity = (metric, { value, unit }, digits = 0) => `${signed(metric, value, number(value, digits))} ${unitText(unit)}`;

const money = (value, currency) =>
  new Intl.NumberFormat('en', { style: 'currency', currency, maximumFractionDigits: 0 }).format(value).replace(/^-(\D*0)$/, '$1').replace('-', '−');

/** Returns what fits into a zone on the map: `€54`, `31.2`. */
export function short(metric, { value, unit }) {
  if (unit.endsWith('/MWh')) return money(value, unit.slice(0, 3));
  const shown = unit === 'MW' ? value / 1000 : value;
  return signed(metric, value, number(shown, unit === 'MW' ? 1 : 0)).replace(/^[−+]0(\.0)?$/, '0$1');
}

export function rank(figure) {
  if (figure.expected) return 'operator forecast';
  const kind = figure.basis === 'estimate' ? 'estimated, ' : '';
  const what = kind + ({ past: 'hourly mean, ', ahead: 'day-ahead auction, ' }[figure.hour] ?? '');
  return what + place(figure.percentile);
}

function place(percentile) {
  if (percentile === null || percentile === undefined) return 'too little history to rank';
  if (percentile === 0) return 'the lowest in 30 days';
  if (percentile === 100) return 'the highest in 30 days';
  return `higher than ${percentile}% of the time in the past 30 days`;
}

/** Returns `Fri 20 Nov, 14:00 CET` for Unix seconds, in the civil time of `tz`. */
export function time(ts, tz, withDay = true) {
  const day = withDay ? { weekday: 'short', day: 'numeric', month: 'short' } : {};
  const clock = new Intl.DateTimeFormat('en-GB', { ...day, hour: '2-digit', minute: '2-digit', timeZone: tz }).format(ts * 1000);
  return `${clock} ${clockName(ts, tz)}`;
}

// In British English, clocks overseas have no names: PST is GMT-8.
const LOCALES = { America: 'en-US', Australia: 'en-AU' };

const clockName = (ts, tz) => new Intl.DateTimeFormat(LOCALES[tz.split('/')[0]] ?? 'en-GB', { timeZone: tz, timeZoneName: 'short' })
  .formatToParts(ts * 1000).find(({ type }) => type === 'timeZoneName').value;

/** Returns `4 min ago`, `3 h ago` or `2 d ago`. */
export function ago(ts, now) {
  const seconds = Math.max(0, now - ts);
  if (seconds < 90) return 'just now';
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/** Returns what an error means to a reader of the page. `shown`: whether earlier data is on the screen. */
export function refusal(error, shown = false) {
  switch (error.status) {
    case 0: return `The service cannot be reached. ${again(shown)}`;
    case 401: return 'Your key is invalid or revoked, so the page shows rounded values. Enter another key.';
    case 429: {
      const wait = error.wait > 90 ? `${Math.ceil(error.wait / 60)} minutes` : `${error.wait ?? 60} seconds`;
      return `Too many requests from your address or with your key. The page continues in ${wait}.`;
    }
    case 503: return error.type === 'not-yet-available' && !shown
      ? 'No data has been published yet. The page keeps checking.'
      : `The service is temporarily unavailable. ${again(shown)}`;
    default: return error.message;
  }
}

const again = (shown) => (shown ? 'You see the last data loaded; the page keeps trying.' : 'The page keeps trying.');
