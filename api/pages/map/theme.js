// Sets light, dark or the system's colours, and stores the choice in this browser.

import { byId } from './dom.js';
import * as kept from './kept.js';

const ORDER = ['auto', 'light', 'dark'];
const KEPT = 'emds-theme';

function apply(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId('theme-name').textContent = theme;
}

export function wire() {
  const before = kept.read(KEPT);
  let theme = ORDER.includes(before) ? before : 'auto';
  apply(theme);
  byId('theme').addEventListener('click', () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    kept.write(KEPT, theme);
    apply(theme);
  });
}
