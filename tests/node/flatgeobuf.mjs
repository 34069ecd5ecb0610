// Streams a FlatGeobuf file over HTTP and prints the id of every feature.

import { deserialize } from 'flatgeobuf/lib/mjs/geojson.js';

const response = await fetch(process.argv[2]);
for await (const feature of deserialize(response.body)) console.log(feature.properties.id);
