// Reads GeoJSON from standard input and says what is wrong with it by RFC 7946 (check-geojson); silent where nothing is.
import { readFileSync } from 'node:fs';
import { check } from '@placemarkio/check-geojson';

try {
  check(readFileSync(0, 'utf8'));
} catch (error) {
  console.error((error.issues ?? [error]).map((issue) => issue.message).join('\n'));
  process.exitCode = 1;
}
