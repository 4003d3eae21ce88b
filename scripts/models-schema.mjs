// Writes models.schema.json, which editors read beside models.yaml; run after libs/catalog/catalog-schema.ts changed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOG_SCHEMA } from '../dist/libs/catalog/catalog-schema.js';

writeFileSync(join(import.meta.dirname, '..', 'models.schema.json'), `${JSON.stringify(CATALOG_SCHEMA, null, 2)}\n`);
