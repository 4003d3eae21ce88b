import Ajv from 'ajv';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../build/prepare.mjs';

/** Reserved by Helm for all charts. */
const HELMS_OWN = new Set(['global']);

/**
 * Values that no template reads or that the schema lacks, and the other way around, and secrets among them; one
 * sentence each.
 */
export function valueProblems(chart, { secrets }) {
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
  const folder = join(chart, 'templates');
  const templates = readdirSync(folder, { recursive: true })
    .filter((file) => /\.(ya?ml|tpl|txt)$/.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
  return [
    ...versions(chart),
    ...differences(values, schema, ''),
    ...unread(values, schema, '', templates),
    ...plainSecrets(schema, secrets),
  ];

  function definition(part) {
    return part.$ref === undefined ? part : schema.$defs[part.$ref.split('/').at(-1)];
  }

  function differences(value, part, path) {
    const { properties, additionalProperties } = definition(part);
    if (properties === undefined || value === null || Array.isArray(value)) return [];
    const problems = additionalProperties === false ? [] : [`${path || 'values'}: the schema lets misspelt names pass`];
    for (const name of new Set([...Object.keys(properties), ...Object.keys(value)])) {
      const here = path === '' ? name : `${path}.${name}`;
      if (HELMS_OWN.has(here)) continue;
      if (!(name in properties)) problems.push(`${here}: the schema does not know it`);
      else if (!(name in value)) {
        if (path.endsWith('resources')) continue;
        problems.push(`${here}: values.yaml has no default`);
      } else if (typeof value[name] === 'object') problems.push(...differences(value[name], properties[name], here));
    }
    return problems;
  }

  function unread(value, part, path, text) {
    const { properties } = definition(part);
    return Object.entries(value ?? {}).flatMap(([name, inner]) => {
      if (properties?.[name] === undefined) return [];
      const here = path === '' ? name : `${path}.${name}`;
      const read = new RegExp(`\\.${name}\\b|"${name}"`).test(text);
      const isGroup = typeof inner === 'object' && !Array.isArray(inner);
      return [
        ...(read || here.includes('resources.') ? [] : [`${here}: no template reads it`]),
        ...(isGroup ? unread(inner, properties[name], here, text) : []),
      ];
    });
  }
}

/** By default, a chart runs the image of the same commit. */
function versions(chart) {
  const { appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return appVersion === version ? [] : [`the appVersion must be ${version}, as in package.json`];
}

/** A URL may be a plain value unless it has a password; any other secret may not. */
function plainSecrets(schema, secrets) {
  const accepts = new Ajv({ strict: false, logger: false }).compile(schema);
  return [...secrets].flatMap(([name, isAddress]) => {
    const value = isAddress ? 'scheme://someone:unknown@host.example:1' : 'unknown';
    return ['settings', 'api', 'worker']
      .filter((part) =>
        accepts(part === 'settings' ? { settings: { [name]: value } } : { [part]: { settings: { [name]: value } } }),
      )
      .map((part) => `${part === 'settings' ? part : `${part}.settings`}: ${name} may be given in plain`);
  });
}
