// Generates the console API's types from console-openapi.json: npm run build -- --tools
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CONSOLE_TYPES, requireTool, ROOT } from './prepare.mjs';

const { default: openapiTS, astToString } = requireTool('openapi-typescript');

const document = JSON.parse(readFileSync(join(ROOT, 'console-openapi.json'), 'utf8'));
// Only schemas: requests are typed where they are made.
const nodes = await openapiTS({ ...document, paths: {} }, { immutable: true, defaultNonNullable: false, silent: true });
const types = [
  astToString(nodes.filter(({ name }) => name?.text === 'components')),
  '/** What the console API takes and answers, by the names of the classes of its bodies and views. */',
  "export type Schema = components['schemas'];",
];
mkdirSync(dirname(CONSOLE_TYPES), { recursive: true });
writeFileSync(CONSOLE_TYPES, `${types.join('\n')}\n`);
