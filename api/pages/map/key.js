// The visitor's own API key, kept in this browser only, and only if the visitor stores it here.

import * as kept from './kept.js';

const KEPT = 'emds-key';

export const stored = () => kept.read(KEPT);

/** Keeps a key, or forgets it (`null`). */
export const store = (value) => kept.write(KEPT, value);
