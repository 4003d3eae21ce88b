const MAX_DEPTH = 8;

/** A sample value that roughly fits a JSON schema, always the same. Never throws. */
export function sampleValue(schema: unknown, depth = 0): unknown {
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
  return Object.fromEntries(
    required.map((name) => [String(name), sampleValue(properties[String(name)] ?? { type: 'string' }, depth + 1)]),
  );
}
