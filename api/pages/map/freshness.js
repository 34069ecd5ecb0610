// Shows how fresh each source is, by its own schedule.

import { byId, el, isStatic } from './dom.js';
import { ago, time } from './words.js';

const WORST = ['ok', 'unknown', 'late', 'down'];
const WORDS = { ok: 'on time', unknown: 'no data yet', late: 'late', down: 'down' };

/** Fills one row per source: its worst state, its last success and how many zones it serves. */
export function show({ now, sources }) {
  const bySource = Map.groupBy(sources, (row) => row.source);
  const rows = [...bySource].map(([source, zones]) => summary(source, zones)).sort(
    (a, b) => WORST.indexOf(b.state) - WORST.indexOf(a.state) || a.source.localeCompare(b.source));
  const late = rows.filter((row) => row.state === 'late' || row.state === 'down').length;
  // Files show the state at the time of their publication.
  const when = isStatic ? `At ${time(now, 'UTC')}: ` : '';
  byId('freshness-note').textContent = `${when}${late ? `${late} of ${rows.length} sources ${late === 1 ? 'is' : 'are'} late or down.` : `All ${rows.length} sources are on time.`}`;
  byId('freshness').querySelector('table').hidden = false;
  byId('source-rows').replaceChildren(...rows.map((row) => el('tr', {},
    el('th', { scope: 'row' }, row.source, el('small', {}, row.zones === 1 ? '1 zone' : `${row.zones} zones`),
      row.error ? el('small', {}, row.error) : null),
    el('td', {}, el('span', { class: `badge ${row.state}` }, row.count ? `${WORDS[row.state]} (${row.count} of ${row.zones})` : WORDS[row.state])),
    el('td', { class: 'num' }, row.newest ? ago(row.newest, now) : '–'))));
}

/** Reports that the status could not be loaded. Earlier rows stay. */
export function unknown() {
  byId('freshness-note').textContent = 'The status of the sources is temporarily unavailable.';
}

function summary(source, rows) {
  const states = rows.map((row) => row.state ?? (row.last_error ? 'down' : row.last_ok ? 'ok' : 'unknown'));
  const state = states.reduce((worst, one) => (WORST.indexOf(one) > WORST.indexOf(worst) ? one : worst), 'ok');
  const hit = states.filter((one) => one === state).length;
  const zones = new Set(rows.map((row) => row.zone)).size;
  const error = state === 'ok' ? '' : rows[states.indexOf(state)].last_error;
  return { source, error, state, zones, count: state !== 'ok' && hit < zones ? hit : 0, newest: Math.max(...rows.map((row) => row.last_ok)) };
}
