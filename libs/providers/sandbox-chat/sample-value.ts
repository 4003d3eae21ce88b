const MAX_DEPTH = 8;

/** Characters of JSON that a sample may have; it becomes part of each choice. */
const MAX_JSON = 16_384;

/** The JSON of a sample value for a schema; `null` if that is too long. */
export function sampleJson(schema: unknown): string {
  const text = JSON.stringify(sampleValue(schema) ?? null);
  return text.length > MAX_JSON ? 'null' : text;
}

/**
 * A sample value that roughly fits a JSON schema, always the same. Never throws. Visits each part of the schema once.
 */
function sampleValue(schema: unknown, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return null;
  const rules = schema as Record<string, unknown>;
  if ('const' in rules) return rules['const'];
  if (Array.isArray(rules['enum'])) return rules['enum'][0];
  const choices = rules['anyOf'] ?? rules['oneOf'];
  if (Array.isArray(choices)) return sampleValue(choices[0], depth + 1);
  switch ([rules['type']].flat()[0]) {
    case 'string':
      return 'sample';
    case 'integer':
    case 'number':
      return typeof rules['minimum'] === 'number' ? rules['minimum'] : 1;
    case 'boolean':
      return true;
    case 'array':
      return [sampleValue(rules['items'] ?? { type: 'string' }, depth + 1)];
    case 'null':
      return null;
    default:
      return sampleObject(rules, depth);
  }
}

function sampleObject(rules: Record<string, unknown>, depth: number): Record<string, unknown> {
  const properties = (rules['properties'] ?? {}) as Record<string, unknown>;
  const required = Array.isArray(rules['required']) ? (rules['required'] as unknown[]) : Object.keys(properties);
  // A name given twice would double the work at each level.
  const names = new Set(required.map(String));
  return Object.fromEntries(
    [...names].map((name) => [name, sampleValue(properties[name] ?? { type: 'string' }, depth + 1)]),
  );
}
