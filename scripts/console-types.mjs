// Writes apps/dashboard/src/api/schema.ts, the types of what the console API takes and answers, from console-openapi.json;
// with --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, releaseSignals, requireTool, ROOT } from './prepare.mjs';

await prepare({ tools: true });
releaseSignals();
const { default: openapiTS, astToString } = requireTool('openapi-typescript');
const { format, resolveConfig } = requireTool('prettier');
const page = join(ROOT, 'apps/dashboard/src/api/schema.ts');

const document = JSON.parse(readFileSync(join(ROOT, 'console-openapi.json'), 'utf8'));
// Calls are written with their types where they are made: only what they carry is wanted here.
const nodes = await openapiTS({ ...document, paths: {} }, { immutable: true, defaultNonNullable: false, silent: true });
const components = nodes.filter(({ name }) => name?.text === 'components');
const types = [
  '// Generated from console-openapi.json by node scripts/console-types.mjs: change the classes of the console API instead.',
  astToString(components),
  '/** What the console API takes and answers, by the names of the classes of its bodies and views. */',
  "export type Schema = components['schemas'];",
].join('\n');
const after = await format(types, { ...(await resolveConfig(page)), filepath: page });

if (!process.argv.includes('--check')) writeFileSync(page, after);
else if (after !== readFileSync(page, 'utf8')) {
  console.error('apps/dashboard/src/api/schema.ts is not what console-openapi.json says: run npm run openapi');
  process.exit(1);
}
