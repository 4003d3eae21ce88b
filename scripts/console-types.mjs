// Writes the types of what the console API takes and answers, from console-openapi.json: npm run build -- --tools
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CONSOLE_TYPES, requireTool, ROOT } from './prepare.mjs';

const { default: openapiTS, astToString } = requireTool('openapi-typescript');

const document = JSON.parse(readFileSync(join(ROOT, 'console-openapi.json'), 'utf8'));
// Calls are written with their types where they are made: only what they carry is wanted here.
const nodes = await openapiTS({ ...document, paths: {} }, { immutable: true, defaultNonNullable: false, silent: true });
const types = [
  astToString(nodes.filter(({ name }) => name?.text === 'components')),
  '/** What the console API takes and answers, by the names of the classes of its bodies and views. */',
  "export type Schema = components['schemas'];",
];
mkdirSync(dirname(CONSOLE_TYPES), { recursive: true });
writeFileSync(CONSOLE_TYPES, `${types.join('\n')}\n`);
