// Copies a text. Pages without https have no clipboard API and use a hidden text field.

import { el } from './dom.js';

/** Copies a text and returns whether it worked. `place` is a part of the page that can take focus, such as an open dialog. */
export async function copied(text, place) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el('textarea', { class: 'sr', 'aria-hidden': 'true' });
    area.value = text;
    place.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
