// The view as the part of the address after `#`, so that every view can be passed on.

const CHOICES = {
  metric: ['price', 'demand', 'interchange', 'carbon_intensity'],
  colours: ['rank', 'value'],
  span: ['24h', '7d', '30d', 'ahead'],
  plants: ['shown'],
  flows: ['hidden'],
};

/** The parts of the address that are known: {metric, colours, span, zone, beside, at, plants, flows}. */
export function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const view = {};
  for (const [name, allowed] of Object.entries(CHOICES)) {
    if (allowed.includes(given.get(name))) view[name] = given.get(name);
  }
  for (const name of ['zone', 'beside']) if (/^[A-Z0-9-]{2,12}$/.test(given.get(name) ?? '')) view[name] = given.get(name);
  if (/^\d{9,11}$/.test(given.get('at') ?? '')) view.at = Number(given.get('at'));
  return view;
}

/** Writes the view; empty parts are left out. */
export function write(view) {
  const parts = Object.entries(view).filter(([, value]) => value !== null && value !== undefined && value !== '');
  history.replaceState(null, '', `${location.pathname}${location.search}#${new URLSearchParams(parts)}`);
}
