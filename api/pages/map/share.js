// Shares the view as a link or as a frame for another website. Inside a frame, links to the whole page.

import { copied } from './clipboard.js';
import { byId, el, isStatic } from './dom.js';

/** Returns the URL of the current view, on the page itself or on the one for frames. */
const link = (page = '') => new URL(`./${page}${location.hash}`, document.baseURI).href;

const frame = () => `<iframe src="${link(isStatic ? 'embed.html' : '?embed')}" title="Electricity markets" width="100%" height="560" style="border:0" loading="lazy"></iframe>`;

export function wire() {
  const dialog = byId('share');
  byId('share-view').addEventListener('click', () => {
    byId('share-link').value = link();
    byId('share-frame').value = frame();
    dialog.showModal();
  });
  for (const button of dialog.querySelectorAll('[data-copy]')) {
    button.addEventListener('click', async () => {
      const done = await copied(byId(button.dataset.copy).value, dialog);
      button.focus();
      button.textContent = done ? 'Copied' : 'Not copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
  }
  dialog.querySelector('[data-close]').addEventListener('click', () => dialog.close());
}

/** Lists each source and its licence once below an embedded map, and links to the same view on the whole page. */
export function credit(zones, boundaries) {
  byId('whole-view').href = link();
  const terms = new Set([...zones.values()].filter((zone) => zone.updated).map((zone) => `${zone.attribution} Licence: ${zone.license}.`));
  byId('credits').replaceChildren(...[...terms, boundaries].map((text) => el('p', {}, text)));
}
