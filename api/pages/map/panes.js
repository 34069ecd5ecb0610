// Draws three maps, one per continent, so that small zones are large enough to touch. Other files choose the colours.

import { el } from './dom.js';
import { NO_FIGURE } from './scale.js';

const REGIONS = {
  europe: { name: 'Europe', bounds: [[36, -10.2], [62.2, 24.4]] },
  america: { name: 'North America', bounds: [[25.6, -124.6], [49.5, -67]] },
  australia: { name: 'Australia', bounds: [[-43.8, 129], [-10.2, 153.8]] },
};

// Pixels by which labels of small neighbours make room for each other. The label of DK-1 is in the sea, away from lines.
const NUDGES = { 'US-NYISO': [-17, -2], 'US-ISONE': [15, 2], BE: [-3, 4], NL: [3, -5], 'DK-1': [34, 12], 'AU-TAS': [0, 3] };
// If the zones east of DK-1 are drawn, its label is in the sea to the west.
const AMONG_NEIGHBOURS = {
  'DK-1': [-30, 2], 'DK-2': [10, 6], 'SE-4': [6, -4], 'NO-1': [4, -6], SK: [4, -4], HU: [5, 2], SI: [-4, 2], HR: [13, 9], RS: [2, 4],
  'IT-CNO': [-6, -2], 'IT-CSO': [-4, 0], 'IT-SO': [6, -4], 'IT-CAL': [12, 4], PT: [-6, 4],
};
// Pixels by which labels may overlap before one of them is shortened or hidden.
const MAY_OVERLAP = 2;
// A map with more zones than this has smaller labels and arrows.
const DENSE = 30;

function regionOf(country) {
  return { US: 'america', AU: 'australia' }[country] ?? 'europe';
}

export class Panes {
  /** `onSelect(zone)` is called for a click, Enter or Space on a zone; `tip(zone)` returns its tooltip. */
  constructor(onSelect, tip) {
    this.onSelect = onSelect;
    this.tip = tip;
    this.shapes = new Map();
    this.labels = new Map();
    this.maps = new Map(Object.entries(REGIONS).map(([id, region]) => [id, pane(id, region, () => this.arrange())]));
  }

  /** Draws the countries around the zones. */
  drawLand(collection) {
    for (const [id, map] of this.maps) {
      const features = collection.features.filter((feature) => feature.properties.region === id);
      L.geoJSON(features, { pane: 'land', renderer: L.svg({ pane: 'land', padding: 0.7 }), interactive: false, style: { className: 'land' } }).addTo(map);
    }
  }

  /** Draws the zones and their labels, each once. */
  drawZones(collection) {
    const added = collection.features.filter((feature) => !this.shapes.has(feature.id));
    const nudges = collection.features.some(({ id }) => id === 'DK-2') ? { ...NUDGES, ...AMONG_NEIGHBOURS } : NUDGES;
    for (const feature of added) {
      const map = this.maps.get(regionOf(feature.properties.country));
      const layer = L.geoJSON(feature, { style: { className: 'zone', fillColor: 'url(#hatch)', fillOpacity: 1, weight: 1 } });
      layer.eachLayer((shape) => this.#wire(shape, feature));
      layer.addTo(map);
      this.#label(map, feature, nudges[feature.id] ?? [0, 0]);
    }
    if (added.length) for (const map of this.maps.values()) map.widen(this.labels);
    for (const { id } of added) this.#reachable(this.shapes.get(id).getElement(), id);
  }

  #wire(shape, feature) {
    this.shapes.set(feature.id, shape);
    shape.on('click', () => this.onSelect(feature.id));
    shape.bindTooltip(() => this.tip(feature.id), { sticky: true, className: 'tip', opacity: 1 });
  }

  /** Makes a zone a button for Tab, Enter, Space and screen readers. */
  #reachable(path, id) {
    path.dataset.zone = id;
    path.setAttribute('role', 'button');
    path.setAttribute('tabindex', '0');
    path.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      this.onSelect(id);
    });
  }

  #label(map, feature, [right, down]) {
    const { label_lat: lat, label_lon: lon } = feature.properties;
    const value = el('b');
    const body = el('span', { 'aria-hidden': 'true', class: Math.abs(right) >= 30 ? 'at-sea' : null }, el('small', {}, feature.id.replace(/^(US|AU)-/, '')), value);
    const icon = L.divIcon({ className: 'zone-label', html: body, iconSize: [0, 0], iconAnchor: [-right, -down] });
    L.marker([lat, lon], { icon, interactive: false, keyboard: false, pane: 'labels' }).addTo(map);
    this.labels.set(feature.id, { body, value, map, at: L.latLng(lat, lon), nudge: L.point(right, down) });
  }

  /** Shows each label in full, only its value, or not at all, as there is room. Every zone has a tooltip and a row in the list. */
  arrange() {
    const taken = [];
    for (const { body, map, at, nudge } of this.labels.values()) {
      const middle = map.latLngToContainerPoint(at).add(nudge);
      const room = ['', 'short'].find((form) => {
        body.className = [...body.classList].filter((name) => name !== 'short' && name !== 'crowded').concat(form || []).join(' ');
        const half = L.point(body.offsetWidth, body.offsetHeight).divideBy(2);
        const own = { map, box: L.bounds(middle.subtract(half), middle.add(half)) };
        if (taken.some((other) => other.map === map && overlap(own.box, other.box))) return false;
        taken.push(own);
        return true;
      });
      body.classList.toggle('crowded', room === undefined);
    }
  }

  /** Colours a zone and writes its value. `fill` is a colour or a pattern; `said` is what a screen reader hears. */
  paint(id, { fill, text, dark, said, expected }) {
    const shape = this.shapes.get(id);
    shape.setStyle({ fillColor: fill });
    shape.getElement().setAttribute('aria-label', said);
    shape.getElement().classList.toggle('expected', expected);
    const { body, value } = this.labels.get(id);
    value.textContent = text;
    body.classList.toggle('on-dark', dark);
    // On a hatch, text has the colours of the page.
    body.classList.toggle('blank', fill === NO_FIGURE);
  }

  select(id) {
    for (const [zone, shape] of this.shapes) {
      const chosen = zone === id;
      const path = shape.getElement();
      path.classList.toggle('selected', chosen);
      path.setAttribute('aria-pressed', String(chosen));
      if (chosen) shape.bringToFront();
    }
  }

  /** Returns the map that contains the coordinates [lon, lat]. */
  mapAt([lon]) {
    return this.maps.get(lon < -40 ? 'america' : lon > 100 ? 'australia' : 'europe');
  }
}

function overlap(a, b) {
  return Math.min(a.max.x, b.max.x) - Math.max(a.min.x, b.min.x) > MAY_OVERLAP && Math.min(a.max.y, b.max.y) - Math.max(a.min.y, b.min.y) > MAY_OVERLAP;
}

/** Creates the map of a region. `onMove` is called after the scale or the size changed. */
function pane(id, region, onMove) {
  const bounds = L.latLngBounds(region.bounds);
  const map = L.map(id, {
    attributionControl: false, zoomSnap: 0.05, zoomDelta: 0.75, wheelPxPerZoomLevel: 140, maxZoom: 9,
    renderer: L.svg({ padding: 0.7 }), maxBounds: bounds.pad(0.45), maxBoundsViscosity: 0.8,
    // One finger scrolls the page, and two fingers move the map.
    dragging: !matchMedia('(pointer: coarse)').matches,
  });
  // Only zones are tab stops, not the container or Leaflet's panes.
  map.getContainer().setAttribute('tabindex', '-1');
  map.getContainer().setAttribute('role', 'group');
  map.getContainer().setAttribute('aria-label', `Map of ${region.name}`);
  for (const [name, order] of [['land', 250], ['flows', 450], ['plants', 460], ['labels', 470]]) {
    map.createPane(name).style.zIndex = order;
  }
  map.getPane('labels').style.pointerEvents = 'none';
  fitted(map, bounds);
  map.on('zoomend resize', onMove);
  return map;
}

/** Keeps the region in view while the window changes, until a reader moves the map. */
function fitted(map, bounds) {
  let moved = false;
  const fit = () => {
    map.invalidateSize({ animate: false, pan: false });
    if (moved) return;
    map.setMinZoom(0);
    map.home = map.getBoundsZoom(bounds, false, L.point(12, 12));
    map.fitBounds(bounds, { padding: [6, 6], animate: false });
    map.setMinZoom(map.home - 0.4);
  };
  fit();
  // Extends the view to all labels, including those of additional zones.
  map.widen = (labels) => {
    map.isDense = [...labels.values()].filter((label) => label.map === map).length > DENSE;
    map.getContainer().classList.toggle('dense', map.isDense);
    for (const label of labels.values()) if (label.map === map && !bounds.contains(label.at)) bounds.extend(label.at.toBounds(140_000));
    map.setMaxBounds(bounds.pad(0.45));
    fit();
  };
  map.on('dragstart', () => { moved = true; });
  map.getContainer().addEventListener('wheel', () => { moved = true; }, { passive: true });
  map.zoomControl.getContainer().addEventListener('click', () => { moved = true; });
  new ResizeObserver(fit).observe(map.getContainer());
}
