// Sends the page's requests to the API: free documents, and exact values with the visitor's key. Errors become `Refused`.

import { isStatic } from './dom.js';
import * as key from './key.js';

const ROOT = new URL('.', document.baseURI);
const PATHS = { price: 'price', demand: 'demand', interchange: 'interchange', carbon: 'carbon' };

/** A response other than 2xx, or one that cannot be read. `status` is 0 if the service was not reached. `wait`: seconds until the
 *  next try. `type`: the last part of the problem's type. */
export class Refused extends Error {
  constructor(status, detail, wait, type = '') {
    super(detail);
    this.status = status;
    this.wait = wait;
    this.type = type;
  }
}

async function get(path, query = {}, options = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  let response;
  try {
    response = await fetch(url, options);
  } catch {
    throw new Refused(0, 'The service cannot be reached.', null);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok || body === null) {
    const wait = Number(response.headers.get('Retry-After')) || null;
    const unsaid = response.ok ? 'The service sent an invalid response.' : `The service returned status ${response.status}.`;
    throw new Refused(response.status, body?.detail ?? unsaid, wait, String(body?.type ?? '').split('/').at(-1));
  }
  return { body, stale: response.headers.get('X-EMDS-Stale') === 'true' };
}

/** Returns the path of a free document. Files have an extension. */
const named = (path, extension = 'json') => (isStatic ? `${path}.${extension}` : path);
const historyPath = (zone) => named(`v1/geo/live/${zone}`);

export const live = () => get(named('v1/geo/live', 'geojson'));
export const hours = () => get(named('v1/geo/live/hours'));
export const history = (zone) => get(historyPath(zone));
export const historyAddress = (zone) => address(historyPath(zone));
export const lines = () => get('v1/geo/interconnectors.geojson');
export const plants = () => get('v1/geo/plants.geojson');
export const status = () => get(named('v1/status'));

const withKey = () => ({ headers: { Authorization: `Bearer ${key.stored()}` } });

/** Fetches the brief of a zone. Uses one request of the visitor's key. */
export const brief = (zone) => get(`v1/brief/${zone}`, {}, withKey());

/** Fetches exact means between two times (Unix seconds) by `interval`. Uses one request of the visitor's key. */
export const exactMeans = (metric, zone, start, end, interval) =>
  get(`v1/${PATHS[metric]}/${zone}`, { interval, start, end, limit: 5000 }, withKey());

export const signUp = (email) =>
  get('v1/keys/signup', {}, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email }) });

/** Fetches a text of this service. */
export async function text(path) {
  const answer = await fetch(new URL(path, ROOT)).catch(() => null);
  if (!answer?.ok) throw new Refused(answer?.status ?? 0, 'The service cannot be reached.', null);
  return answer.text();
}

/** Loads a module that few visitors need. */
export const part = (name) => import(`./${name}.js`).catch(() => { throw new Refused(0, 'The service cannot be reached.', null); });

export const seriesAddress = (metric, zone) => address(`v1/${PATHS[metric]}/${zone}`);

export const address = (path) => new URL(path, ROOT).href;
