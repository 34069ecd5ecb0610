// Creates elements without markup strings, so that text stays text.

/** True if `emds publish` wrote this page, for a host that has files and no API. */
export const isStatic = document.body.classList.contains('static');

const SVG = 'http://www.w3.org/2000/svg';

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);

/** Replaces the children of a place. Focus moves from an old child to the new one with the same `data-keep`. */
export function replace(place, ...children) {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...children);
  if (!held) return;
  const again = held.dataset.keep ? place.querySelector(`[data-keep="${held.dataset.keep}"]`) : null;
  (again ?? place.closest('[tabindex]'))?.focus({ preventScroll: true });
}
