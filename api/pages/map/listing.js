// All zones as a table: what the map shows, for eyes, keyboards and screen readers alike.

import { rankBar } from './brief.js';
import { byId, el } from './dom.js';
import { nameOf, quantity, rank } from './words.js';

/** Fills the table, the highest rank first, zones without a figure last. */
export function listed(zones, metric, figures, onSelect) {
  const place = (zone) => figures.get(zone.id)?.percentile ?? (figures.has(zone.id) ? -1 : -2);
  const ordered = [...zones.values()].sort((a, b) => place(b) - place(a) || a.name.localeCompare(b.name));
  byId('zones-caption').textContent = `${nameOf(metric)} of all zones, the highest among its own last 30 days first`;
  byId('zone-rows').replaceChildren(...ordered.map((zone) => {
    const shown = figures.get(zone.id);
    return el('tr', { class: shown ? null : 'none' },
      el('th', { scope: 'row' }, el('button', { type: 'button', on: { click: () => onSelect(zone.id) } }, zone.id, el('small', {}, zone.name))),
      el('td', { class: 'num' }, shown ? figure(quantity(metric, shown)) : 'not published'),
      el('td', {}, shown ? [rankBar(shown.percentile), el('span', { class: 'sr' }, rank(shown.percentile)),
        el('small', { 'aria-hidden': 'true' }, shown.percentile ?? '–')] : null));
  }));
}

/** The number, and its unit below it in small letters. */
function figure(text) {
  const at = text.lastIndexOf(' ');
  return [el('b', {}, text.slice(0, at)), ' ', el('small', {}, text.slice(at + 1))];
}
