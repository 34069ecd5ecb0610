// Numbers, times, ranks and refusals in words.

const METRICS = {
  price: { name: 'Price', label: 'per MWh' },
  demand: { name: 'Demand', label: 'GW' },
  interchange: { name: 'Net import', label: 'GW, + = into the zone' },
  carbon: { name: 'Carbon intensity', label: 'gCO₂/kWh' },
};

/** What is said of a metric without a value; carbon intensity is estimated, and then refused for some hours. */
export const absence = (metric) => (metric === 'carbon' ? 'has no value now' : 'is not published here');
export const nameOf = (metric) => METRICS[metric]?.name ?? metric;
export const labelUnit = (metric) => METRICS[metric].label;

export function number(value, digits) {
  // A true minus sign is as wide as the digits.
  return new Intl.NumberFormat('en', { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value).replace('-', '−');
}

export const signed = (metric, value, text) => (metric === 'interchange' && value > 0 ? `+${text}` : text);
export const unitText = (unit) => unit.replace('gCO2', 'gCO₂');

/** `54 EUR/MWh`, `31,200 MW`; `digits` more where the figure is exact. */
export const quantity = (metric, { value, unit }, digits = 0) => `${signed(metric, value, number(value, digits))} ${unitText(unit)}`;

const money = (value, currency) =>
  new Intl.NumberFormat('en', { style: 'currency', currency, maximumFractionDigits: 0 }).format(value).replace(/^-(\D*0)$/, '$1').replace('-', '−');

/** What fits into a zone on the map: `€54`, `31.2`. */
export function short(metric, { value, unit }) {
  if (unit.endsWith('/MWh')) return money(value, unit.slice(0, 3));
  const shown = unit === 'MW' ? value / 1000 : value;
  return signed(metric, value, number(shown, unit === 'MW' ? 1 : 0)).replace(/^[−+]0(\.0)?$/, '0$1');
}

export function rank(figure) {
  if (figure.expected) return 'expected by its operator';
  const kind = figure.basis === 'estimate' ? 'estimated, ' : '';
  const what = kind + ({ past: 'mean of the hour, ', ahead: 'fixed by auction, ' }[figure.hour] ?? '');
  return what + place(figure.percentile);
}

function place(percentile) {
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

/** What a refusal means to a reader of the page; `shown`: whether an earlier answer is on the screen. */
export function refusal(error, shown = false) {
  switch (error.status) {
    case 0: return `The service cannot be reached. ${shown ? 'What you see is the last answer; the page' : 'The page'} tries again by itself.`;
    case 401: return 'Your key is not known or was revoked: the page shows rounded figures.';
    case 429: {
      const wait = error.wait > 90 ? `${Math.ceil(error.wait / 60)} minutes` : `${error.wait ?? 60} seconds`;
      return `Too many calls from your address or with your key; the page goes on in ${wait}.`;
    }
    case 503: return error.type === 'not-yet-available' && !shown
      ? 'Nothing has been published yet; the page looks again by itself.'
      : `The service has no answer at the moment; ${shown ? 'what you see is the last one. The page' : 'the page'} tries again by itself.`;
    default: return error.message;
  }
}
