// The hour slider: 48 hours back, the present, and the hours ahead until the end of tomorrow (UTC).

import { byId, el } from './dom.js';
import { time } from './words.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
const STEP_MS = 700;
const DAYS = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', timeZone: 'UTC' });
/** The position of the present; 0 is 47 hours ago. */
const PRESENT = 47;

let running = 0;
let timer = null;

const last = () => PRESENT + (running - (running % DAY) + 2 * DAY - HOUR - running) / HOUR;

/** The hour at a position, Unix seconds; null for the present. */
export const hourAt = (position) => (position === PRESENT ? null : running + (position - PRESENT) * HOUR);

/** An hour as one that the slider has: one that is too old becomes the oldest, one too far ahead the present. */
export function within(at) {
  const position = Math.max(0, PRESENT + Math.floor((at - running) / HOUR));
  return hourAt(position > last() ? PRESENT : position);
}

/** The present moves on: `now` in Unix seconds. */
export function setNow(now) {
  running = now - (now % HOUR);
  byId('hour').max = last();
  const place = (position) => `calc(.5rem + ${position / last()} * (100% - 1rem))`;
  const marks = [[PRESENT, 'now']];
  for (let ts = running - PRESENT * HOUR; ts <= running + 2 * DAY; ts += HOUR) {
    const position = PRESENT + (ts - running) / HOUR;
    if (ts % DAY === 0 && position <= last() && Math.abs(position - PRESENT) > 4) marks.push([position, DAYS.format(ts * 1000)]);
  }
  byId('days').replaceChildren(...marks.map(([position, text]) => {
    const [word, date] = text.split(' ');
    const mark = el('span', { class: text === 'now' ? 'present' : null }, word, date ? el('i', {}, ` ${date}`) : null);
    mark.style.left = place(position);
    return mark;
  }));
}

export function show(at) {
  byId('hour').value = at ? PRESENT + (at - running) / HOUR : PRESENT;
  byId('hour-text').textContent = at ? time(at, 'UTC') : 'now';
  byId('hour').setAttribute('aria-valuetext', byId('hour-text').textContent);
}

function stop() {
  clearInterval(timer);
  timer = null;
  byId('play').setAttribute('aria-pressed', 'false');
}

/** `onSlide(hour)` is called for each hour that is chosen or played. */
export function wire(onSlide) {
  byId('hour').addEventListener('input', (event) => { stop(); onSlide(hourAt(Number(event.target.value))); });
  byId('play').addEventListener('click', () => {
    if (timer) { stop(); return; }
    const from = Number(byId('hour').value);
    let position = from === PRESENT || from >= last() ? 0 : from;
    byId('play').setAttribute('aria-pressed', 'true');
    timer = setInterval(() => {
      onSlide(hourAt(position));
      position += 1;
      if (position > last()) stop();
    }, STEP_MS);
  });
}
