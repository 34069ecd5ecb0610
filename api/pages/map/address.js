// Writes the view into the URL after `#` and reads it, so that every view can be shared.

const CHOICES = {
  metric: ['price', 'demand', 'interchange', 'carbon'],
  colours: ['rank', 'value'],
  span: ['24h', '7d', '30d', 'ahead', 'dates'],
  block: ['1', '2', '3', '6'],
  sort: ['name', '-name', 'value', '-value', 'rank', '-rank'],
  panel: ['wide'],
  plants: ['shown'],
  flows: ['hidden'],
};

/** Returns the valid parts of the URL: {metric, colours, span, from, to, block, sort, panel, zone, beside, at, plants, flows}. */
export function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const view = {};
  for (const [name, allowed] of Object.entries(CHOICES)) {
    if (allowed.includes(given.get(name))) view[name] = given.get(name);
  }
  // Older links name the metric that only GB had.
  if (given.get('metric') === 'carbon_intensity') view.metric = 'carbon';
  for (const name of ['zone', 'beside']) if (/^[A-Z0-9-]{2,12}$/.test(given.get(name) ?? '')) view[name] = given.get(name);
  for (const name of ['from', 'to']) if (Date.parse(given.get(name) ?? '') && /^\d{4}-\d\d-\d\d$/.test(given.get(name))) view[name] = given.get(name);
  if (/^\d{9,11}$/.test(given.get('at') ?? '')) view.at = Number(given.get('at'));
  return view;
}

/** Returns the URL of a view without its empty parts. `search`: the query string. */
export function link(view, search = location.search) {
  const parts = Object.entries(view).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return `${location.pathname}${search}#${new URLSearchParams(parts)}`;
}

/** Writes the view. Another zone adds an entry to the browser's history. */
export function write(view) {
  const step = (read().zone ?? null) !== (view.zone ?? null);
  history[step ? 'pushState' : 'replaceState'](null, '', link(view));
}
