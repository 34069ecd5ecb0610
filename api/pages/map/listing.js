// All zones as a table: what the map shows, for eyes, keyboards and screen readers alike.

import { byId, el, replace } from './dom.js';
import { rankBar } from './panel.js';
import { nameOf, quantity, rank } from './words.js';

const BASES = { published: 'Published by operators', estimate: 'Estimated from the generation mix' };

/** Fills the table: by rank or by value, the highest first, zones without a figure last. By value, prices stand by currency and
 *  carbon intensities by basis: they compare within one alone. */
export function list(zones, metric, colours, figures, { now, missing }, onSelect) {
  const place = (zone) => {
    const figure = figures.get(zone.id);
    if (!figure) return -Infinity;
    return colours === 'rank' ? figure.percentile ?? -1 : figure.value;
  };
  const headOf = colours === 'value' && { price: (figure) => `In ${figure.unit}`, carbon: (figure) => BASES[figure.basis] }[metric];
  const heads = headOf ? [...new Set([...figures.values()].map(headOf))].sort() : [];
  const group = (zone) => (heads.length && figures.has(zone.id) ? heads.indexOf(headOf(figures.get(zone.id))) : heads.length);
  const ordered = [...zones.values()].sort((a, b) => group(a) - group(b) || place(b) - place(a) || a.name.localeCompare(b.name));
  byId('zones-caption').textContent = `${nameOf(metric)} of all zones, the highest ${colours === 'rank' ? 'rank' : 'value'} first`;
  let before = null;
  replace(byId('zone-rows'), ...ordered.flatMap((zone) => {
    const figure = figures.get(zone.id);
    const own = heads.length && figure ? headOf(figure) : before;
    const head = own === before ? [] : el('tr', { class: 'group' }, el('th', { colspan: 3 }, own));
    before = own;
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
