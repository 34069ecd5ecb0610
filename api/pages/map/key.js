// The visitor's own API key, kept in this browser only, and only if the visitor stores it here.

const KEPT = 'emds-key';

export const stored = () => localStorage.getItem(KEPT);

/** Keeps a key, or forgets it (`null`). */
export function store(value) {
  if (value) localStorage.setItem(KEPT, value);
  else localStorage.removeItem(KEPT);
}
