// Stores values in this browser. If the browser stores nothing (a frame with blocked cookies), the page keeps them until it is closed.

const memory = new Map();

/** Returns a stored text, or null. */
export function read(name) {
  try {
    return memory.get(name) ?? window.localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Stores a text, or removes it (`null`). */
export function write(name, text) {
  memory.delete(name);
  try {
    if (text === null) window.localStorage.removeItem(name);
    else window.localStorage.setItem(name, text);
  } catch {
    if (text !== null) memory.set(name, text);
  }
}
