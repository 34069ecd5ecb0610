// All zones as a table: what the map shows, for eyes, keyboards and screen readers alike.

import { byId, el, replace } from './dom.js';
import { rankBar } from './panel.js';
import { nameOf, quantity, rank } from './words.js';

/** Fills the table: by rank or by value, the highest first, zones without a figure last. */
export function list(zones, metric, colours, figures, now, onSelect) {
  const place = (zone) => {
    const figure = figures.get(zone.id);
    if (!figure) return -Infinity;
    return colours === 'rank' ? figure.percentile ?? -1 : figure.value;
  };
  const ordered = [...zones.values()].sort((a, b) => place(b) - place(a) || a.name.localeCompare(b.name));
  byId('zones-caption').textContent = `${nameOf(metric)} of all zones, the highest ${colours === 'rank' ? 'rank' : 'value'} first`;
  replace(byId('zone-rows'), ...ordered.map((zone) => {
    const figure = figures.get(zone.id);
    return el('tr', { class: figure ? null : 'none' },
      el('th', { scope: 'row' }, el('button', { type: 'button', 'data-keep': `list-${zone.id}`, on: { click: () => onSelect(zone.id) } }, zone.id, el('small', {}, zone.name))),
      el('td', { class: 'num' }, figure ? number(quantity(metric, figure)) : 'not published'),
      el('td', {}, figure ? rankCell(figure, now) : null));
  }));
}

function rankCell(figure, now) {
  const overdue = figure.expectedBy && now > figure.expectedBy;
  return [rankBar(figure.percentile), el('span', { class: 'sr' }, `${rank(figure)}${overdue ? ', overdue' : ''}`),
    el('small', { 'aria-hidden': 'true' }, figure.percentile ?? '–', overdue ? el('abbr', { title: 'A newer figure is overdue' }, ' ◷') : null)];
}

/** The number, and its unit below it in small letters. */
function number(text) {
  const at = text.lastIndexOf(' ');
  return [el('b', {}, text.slice(0, at)), ' ', el('small', {}, text.slice(at + 1))];
}
