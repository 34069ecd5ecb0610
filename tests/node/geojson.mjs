// Reads GeoJSON from stdin, prints each violation of RFC 7946 (check-geojson); exits with 1 where there is one.
import { readFileSync } from 'node:fs';
import { check } from '@placemarkio/check-geojson';

try {
  check(readFileSync(0, 'utf8'));
} catch (error) {
  console.error((error.issues ?? [error]).map((issue) => issue.message).join('\n'));
  process.exitCode = 1;
}
