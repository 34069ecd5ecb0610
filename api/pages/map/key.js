// The visitor's own API key, kept in this browser only, and only if the visitor stores it here.

import { isStatic } from './dom.js';
import * as kept from './kept.js';

const KEPT = 'emds-key';

/** The stored key; null on a page of files, which has no API to use it with. */
export const stored = () => (isStatic ? null : kept.read(KEPT));

/** Keeps a key, or forgets it (`null`). */
export const store = (value) => kept.write(KEPT, value);
