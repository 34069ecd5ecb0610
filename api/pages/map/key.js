// Stores the visitor's API key, only in this browser and only on request.

import { isStatic } from './dom.js';
import * as kept from './kept.js';

const KEPT = 'emds-key';

/** Returns the stored key; null on a page of files, which has no API to use it with. */
export const stored = () => (isStatic ? null : kept.read(KEPT));

/** Stores a key, or removes it (`null`). */
export const store = (value) => kept.write(KEPT, value);
