// Writes models.schema.json, which editors read beside models.yaml; run after libs/catalogue/catalogue-schema.ts changed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOGUE_SCHEMA } from '../dist/libs/catalogue/catalogue-schema.js';

writeFileSync(join(import.meta.dirname, '..', 'models.schema.json'), `${JSON.stringify(CATALOGUE_SCHEMA, null, 2)}\n`);
