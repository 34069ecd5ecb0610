// The API as the page calls it: free documents, and exact figures with the visitor's own key. One place for refusals.

import { isStatic } from './dom.js';
import * as key from './key.js';

const ROOT = new URL('.', document.baseURI);
const PATHS = { price: 'price', demand: 'demand', interchange: 'interchange', carbon: 'carbon' };

/** An answer other than 2xx, or none that can be read; `status` 0: the service was not reached. `wait`: seconds until the next
 *  try. `type`: the last part of the problem's type. */
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

/** The path of a free document: among files its name has an extension. */
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

/** The brief of a zone; counts as one answer of the visitor's key. */
export const brief = (zone) => get(`v1/brief/${zone}`, {}, withKey());

/** Exact means between two instants (Unix seconds) by `interval`; counts as one answer of the visitor's key. */
export const exactMeans = (metric, zone, start, end, interval) =>
  get(`v1/${PATHS[metric]}/${zone}`, { interval, start, end, limit: 5000 }, withKey());

export const signUp = (email) =>
  get('v1/keys/signup', {}, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email }) });

/** A text of this service. */
export async function text(path) {
  const answer = await fetch(new URL(path, ROOT)).catch(() => null);
  if (!answer?.ok) throw new Refused(answer?.status ?? 0, 'The service cannot be reached.', null);
  return answer.text();
}

/** A module that few visitors need, loaded when it is wanted. */
export const part = (name) => import(`./${name}.js`).catch(() => { throw new Refused(0, 'The service cannot be reached.', null); });

export const seriesAddress = (metric, zone) => address(`v1/${PATHS[metric]}/${zone}`);

export const address = (path) => new URL(path, ROOT).href;
