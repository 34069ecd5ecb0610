// Copying a text, also where the page is not served over https and the browser gives it no clipboard.

import { el } from './dom.js';

/** Whether the text was copied. `place` is a part of the page that takes focus: of an open dialog, that dialog. */
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
