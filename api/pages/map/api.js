// The public API as anybody calls it: free paths and samples, no key. One place for what it refuses.

const ROOT = new URL('.', document.baseURI);
const PATHS = { price: 'price', demand: 'demand', interchange: 'interchange', carbon_intensity: 'carbon-intensity' };
const SAMPLE = { sample: 'true' };

/** A refusal, with what the service says about it. */
export class Refused extends Error {
  constructor(status, detail, wait) {
    super(detail);
    this.status = status;
    this.wait = wait;
  }
}

async function ask(path, query = {}, options = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  let answer;
  try {
    answer = await fetch(url, options);
  } catch {
    throw new Refused(0, 'The service cannot be reached.', null);
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok || body === null) {
    const wait = Number(answer.headers.get('Retry-After')) || null;
    throw new Refused(answer.status, body?.detail ?? `The service answered ${answer.status}.`, wait);
  }
  return {
    body,
    stale: answer.headers.get('X-EMDS-Stale') === 'true',
    simulated: answer.headers.get('X-EMDS-Data') === 'simulated',
  };
}

export const zones = () => ask('v1/geo/zones.geojson');
export const lines = () => ask('v1/geo/interconnectors.geojson');
export const plants = () => ask('v1/geo/plants.geojson');
export const status = () => ask('v1/status');
export const snapshot = (metric) => ask('v1/map/snapshot', { ...SAMPLE, metric });
export const brief = (zone) => ask(`v1/brief/${zone}`, SAMPLE);

/** Hourly means of the last `hours` before `end` (Unix seconds): a sample holds 50 rows. */
export const hourly = (metric, zone, end, hours) =>
  ask(`v1/${PATHS[metric]}/${zone}`, { ...SAMPLE, interval: '1h', start: end - hours * 3600, end });

/** The newest rows of each border of a zone. */
export const borders = (zone) => ask(`v1/interchange/${zone}`, { ...SAMPLE, by: 'border', order: 'desc' });

export const signUp = (email) =>
  ask('v1/keys/signup', {}, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email }) });

export const briefAddress = (zone) => new URL(`v1/brief/${zone}`, ROOT).href;
