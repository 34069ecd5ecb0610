// What this browser keeps for the page. Where it keeps nothing (a frame among blocked cookies), the page remembers until it is closed.

const memory = new Map();

/** What was kept; null where nothing was. */
export function read(name) {
  try {
    return memory.get(name) ?? window.localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a text, or forgets it (`null`). */
export function write(name, text) {
  memory.delete(name);
  try {
    if (text === null) window.localStorage.removeItem(name);
    else window.localStorage.setItem(name, text);
  } catch {
    if (text !== null) memory.set(name, text);
  }
}
