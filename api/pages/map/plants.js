// Draws power plants of 250 MW and above. Size shows capacity, colour shows the main fuel.

import { el } from './dom.js';
import { number } from './words.js';

const FUELS = {
  nuclear: ['Nuclear', '#b45de0'], coal: ['Coal', '#57534e'], lignite: ['Lignite', '#8b5e34'], gas: ['Gas', '#e8833a'],
  oil: ['Oil', '#7f1d1d'], hydro: ['Hydro', '#2f7fe0'], pumped_storage: ['Pumped storage', '#16a3b8'],
  wind: ['Wind', '#3fae6a'], imports: ['Imports', '#8f9bb3'], waste: ['Waste', '#9a6a4f'], marine: ['Marine', '#1d4ed8'],
  wind_onshore: ['Wind, onshore', '#3fae6a'], wind_offshore: ['Wind, offshore', '#0f7a5a'], solar: ['Solar', '#f2c230'], solar_rooftop: ['Solar, rooftop', '#f7dd7a'],
  biomass: ['Biomass', '#7c9a2d'], battery: ['Battery', '#e05297'], geothermal: ['Geothermal', '#c2410c'],
};
const OTHER = ['Other', '#8a94a3'];

export const fuelName = (fuel) => (FUELS[fuel] ?? [fuel.replaceAll('_', ' ')])[0];
export const fuelColour = (fuel) => (FUELS[fuel] ?? OTHER)[1];

/** Returns the radius in pixels. Areas are proportional to capacities and grow as the map zooms in. */
const radius = (mw, map) => (1.4 + Math.sqrt(mw) / 15) * 2 ** Math.min(1.6, Math.max(0, (map.getZoom() - map.home) / 2.2));

/** Draws every plant, large ones below, and fills the legend of fuels. Returns [map, layer] pairs. */
export function draw(collection, panes, legend) {
  const renderers = new Map();
  const layers = collection.features.toSorted((a, b) => b.properties.capacity_mw - a.properties.capacity_mw).map(({ properties, geometry }) => {
    const [lon, lat] = geometry.coordinates;
    const map = panes.mapAt(geometry.coordinates);
    if (!renderers.has(map)) renderers.set(map, L.svg({ pane: 'plants', padding: 0.7 }));
    const circle = L.circleMarker([lat, lon], {
      pane: 'plants', renderer: renderers.get(map), className: 'plant', radius: radius(properties.capacity_mw, map),
      fillColor: fuelColour(properties.fuel), fillOpacity: 0.9, weight: 0.7,
    }).addTo(map);
    map.on('zoomend', () => circle.setRadius(radius(properties.capacity_mw, map)));
    circle.bindTooltip(() => tip(properties), { className: 'tip', opacity: 1 });
    // 1,300 tab stops would bury the rest of the page.
    circle.on('add', () => hide(circle.getElement()));
    hide(circle.getElement());
    return [map, circle];
  });
  const used = new Set(collection.features.map((feature) => feature.properties.fuel));
  legend.replaceChildren(el('li', {}, 'Dots are power plants; size shows capacity:'), ...Object.keys(FUELS).filter((fuel) => used.has(fuel)).map((fuel) => {
    const item = el('li', {}, el('i'), fuelName(fuel));
    item.firstChild.style.background = fuelColour(fuel);
    return item;
  }));
  return layers;
}

function hide(path) {
  path.setAttribute('tabindex', '-1');
  path.setAttribute('aria-hidden', 'true');
}

function tip(plant) {
  const year = plant.commissioning_year ? `, since ${plant.commissioning_year}` : '';
  return el('div', {}, el('strong', {}, plant.name), el('div', {}, `${fuelName(plant.fuel)}, ${number(plant.capacity_mw, 0)} MW${year}`),
    el('div', { class: 'when' }, `${plant.zone}${plant.owner ? `, ${plant.owner}` : ''}`));
}
