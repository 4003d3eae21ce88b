// Writes models.schema.json, which editors use for models.yaml; run it after changing libs/catalog/catalog-schema.ts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOG_SCHEMA } from '../../dist/libs/catalog/catalog-schema.js';

writeFileSync(
  join(import.meta.dirname, '..', '..', 'models.schema.json'),
  `${JSON.stringify(CATALOG_SCHEMA, null, 2)}\n`,
);
