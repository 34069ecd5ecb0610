// The hour slider: 48 hours back, the present, and the hours until the end of tomorrow (UTC).

import { byId, el } from './dom.js';
import { midnight } from './figures.js';
import { time } from './words.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
const STEP_MS = 700;
// Pixels that keep a day apart from "now".
const APART = 6;
/** The position of the present; 0 is 47 hours ago. */
const PRESENT = 47;

let running = 0;
let timer = null;

const last = () => PRESENT + (running - (running % DAY) + 2 * DAY - HOUR - running) / HOUR;

/** Returns the hour at a position, Unix seconds; null for the present. */
export const hourAt = (position) => (position === PRESENT ? null : running + (position - PRESENT) * HOUR);

/** Returns an hour that the slider has: one that is too old becomes the oldest, one too far ahead the present. */
export function within(at) {
  const position = Math.max(0, PRESENT + Math.floor((at - running) / HOUR));
  return hourAt(position > last() ? PRESENT : position);
}

/** Moves the present to `now` (Unix seconds). */
export function setNow(now) {
  running = now - (now % HOUR);
  byId('hour').max = last();
}

/** Shows an hour, and the days of the track, in the civil time of `tz`. */
export function show(at, tz) {
  byId('hour').value = at ? PRESENT + (at - running) / HOUR : PRESENT;
  byId('hour-text').textContent = at ? time(at, tz) : 'now';
  byId('hour').setAttribute('aria-valuetext', byId('hour-text').textContent);
  markDays(tz);
}

function markDays(tz) {
  const marks = [[PRESENT, 'now']];
  for (let ts = running - PRESENT * HOUR; ts <= running + 3 * DAY; ts += DAY) {
    const start = midnight(new Date(ts * 1000).toLocaleDateString('sv-SE', { timeZone: tz }), tz);
    const position = PRESENT + (start - running) / HOUR;
    if (position >= 0 && position <= last()) marks.push([position, new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', timeZone: tz }).format(start * 1000)]);
  }
  byId('days').replaceChildren(...marks.map(([position, text]) => {
    const [word, date] = text.split(' ');
    const mark = el('span', { class: text === 'now' ? 'present' : null }, word, date ? el('i', {}, ` ${date}`) : null);
    mark.style.left = `calc(.5rem + ${position / last()} * (100% - 1rem))`;
    return mark;
  }));
  thin();
}

/** Hides days that would overlap "now". */
function thin() {
  const [present, ...days] = byId('days').children;
  for (const day of days) day.hidden = false;
  const { left, right } = present?.getBoundingClientRect() ?? {};
  for (const [day, box] of days.map((each) => [each, each.getBoundingClientRect()])) day.hidden = box.right + APART > left && box.left - APART < right;
}

function stop() {
  clearInterval(timer);
  timer = null;
  byId('play').setAttribute('aria-pressed', 'false');
}

/** Calls `onSlide(hour)` for each hour that is chosen or played. */
export function wire(onSlide) {
  new ResizeObserver(thin).observe(byId('days'));
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
