// All zones as a table: what the map shows, for eyes, keyboards and screen readers alike.

import { byId, el, replace } from './dom.js';
import { rankBar } from './panel.js';
import { nameOf, quantity, rank } from './words.js';

/** Fills the table: by rank or by value, the highest first, zones without a figure last. Prices by value stand by currency. */
export function list(zones, metric, colours, figures, { now, missing }, onSelect) {
  const place = (zone) => {
    const figure = figures.get(zone.id);
    if (!figure) return -Infinity;
    return colours === 'rank' ? figure.percentile ?? -1 : figure.value;
  };
  const units = colours === 'value' && metric === 'price' ? [...new Set([...figures.values()].map((figure) => figure.unit))].sort() : [];
  const group = (zone) => (units.length && figures.has(zone.id) ? units.indexOf(figures.get(zone.id).unit) : units.length);
  const ordered = [...zones.values()].sort((a, b) => group(a) - group(b) || place(b) - place(a) || a.name.localeCompare(b.name));
  byId('zones-caption').textContent = `${nameOf(metric)} of all zones, the highest ${colours === 'rank' ? 'rank' : 'value'} first`;
  let before = null;
  replace(byId('zone-rows'), ...ordered.flatMap((zone) => {
    const figure = figures.get(zone.id);
    const unit = units.length && figure ? figure.unit : before;
    const head = unit === before ? [] : el('tr', { class: 'group' }, el('th', { colspan: 3 }, `In ${unit}`));
    before = unit;
    const open = (event) => { if (!event.target.closest('button')) onSelect(zone.id, true, `list-${zone.id}`); };
    return [head, el('tr', { on: { click: open }, class: figure ? null : 'none' },
      el('th', { scope: 'row' }, el('button', { type: 'button', 'data-keep': `list-${zone.id}`, on: { click: () => onSelect(zone.id) } }, zone.id, el('small', {}, zone.name))),
      el('td', { class: 'num', colspan: figure ? null : 2 }, figure ? number(quantity(metric, figure)) : missing),
      figure ? el('td', {}, rankCell(figure, now)) : null)].flat();
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
