// Lists all zones in a table that can be searched and sorted, with the map's values, also for keyboards and screen readers.

import { byId, el, replace } from './dom.js';
import { rankBar } from './panel.js';
import { nameOf, quantity, rank } from './words.js';

const BASES = { published: 'Published by operators', estimate: 'Estimated from the generation mix' };

const DIRECTIONS = { name: 'ascending', value: 'descending', rank: 'descending' };

/** Returns the order after a click on a column: `name`, `value` or `rank`, with a minus for the reverse. */
export const nextSort = (before, column) => (before === column ? `-${column}` : column);

/** Fills the table by `sort`, zones without a value last, with the zones that match the search. Values are grouped by currency,
 *  and carbon intensities by basis, because they can be compared only within a group. */
export function list(zones, metric, sort, figures, { now, missing }, onSelect) {
  const column = sort.replace('-', '');
  const turn = sort === column ? 1 : -1;
  const place = (zone) => (column === 'rank' ? figures.get(zone.id).percentile ?? -1 : figures.get(zone.id).value);
  const headOf = column === 'value' && { price: (figure) => `In ${figure.unit}`, carbon: (figure) => BASES[figure.basis] }[metric];
  const heads = headOf ? [...new Set([...figures.values()].map(headOf))].sort() : [];
  const group = (zone) => (heads.length && figures.has(zone.id) ? heads.indexOf(headOf(figures.get(zone.id))) : heads.length);
  const compare = (a, b) => {
    if (column === 'name') return turn * a.name.localeCompare(b.name);
    const has = figures.has(b.id) - figures.has(a.id);
    return has || (figures.has(a.id) && (group(a) - group(b) || turn * (place(b) - place(a)))) || a.name.localeCompare(b.name);
  };
  const words = byId('zone-search').value.trim().toLowerCase();
  const shown = [...zones.values()].filter((zone) => `${zone.id} ${zone.name}`.toLowerCase().includes(words)).sort(compare);
  byId('zones-caption').textContent = `${nameOf(metric)} of all zones`;
  showSort(column, turn);
  let before = null;
  replace(byId('zone-rows'), ...shown.flatMap((zone) => {
    const figure = figures.get(zone.id);
    const own = heads.length && figure ? headOf(figure) : before;
    const head = own === before ? [] : el('tr', { class: 'group' }, el('th', { colspan: 3 }, own));
    before = own;
    const open = (event) => { if (!event.target.closest('button')) onSelect(zone.id, true, `list-${zone.id}`); };
    return [head, el('tr', { on: { click: open }, class: figure ? null : 'none' },
      el('th', { scope: 'row' }, el('button', { type: 'button', 'data-keep': `list-${zone.id}`, on: { click: () => onSelect(zone.id) } }, zone.id, el('small', {}, zone.name))),
      el('td', { class: 'num', colspan: figure ? null : 2 }, figure ? number(quantity(metric, figure)) : missing(zone)),
      figure ? el('td', {}, rankCell(figure, now)) : null)].flat();
  }), shown.length ? '' : el('tr', { class: 'none' }, el('td', { colspan: 3 }, 'No zone matches.')));
}

function showSort(column, turn) {
  for (const button of document.querySelectorAll('#zones thead button')) {
    const direction = DIRECTIONS[column] === 'ascending' === (turn === 1) ? 'ascending' : 'descending';
    if (button.value === column) button.parentElement.setAttribute('aria-sort', direction);
    else button.parentElement.removeAttribute('aria-sort');
  }
}

function rankCell(figure, now) {
  const overdue = figure.expectedBy && now > figure.expectedBy;
  return [rankBar(figure.percentile), el('span', { class: 'sr' }, `${rank(figure)}${overdue ? ', overdue' : ''}`),
    el('small', { 'aria-hidden': 'true' }, figure.percentile ?? '–', overdue ? el('abbr', { title: 'Newer data was expected' }, ' ◷') : null)];
}

/** Returns the number, and its unit below it in small letters. */
function number(text) {
  const at = text.lastIndexOf(' ');
  return [el('b', {}, text.slice(0, at)), ' ', el('small', {}, text.slice(at + 1))];
}
