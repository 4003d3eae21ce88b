/** The field of one option, from the JSON Schema of the provider type. */
export interface OptionField {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly kind: 'boolean' | 'number' | 'text' | 'choice' | 'choices' | 'json';
  readonly choices: readonly string[];
}

/** Options as form values: a list of choices, or a text; empty = not set. */
export type OptionTexts = Record<string, string | string[]>;

/** A text that is not valid for its option. */
export class OptionError extends Error {
  constructor(
    readonly option: string,
    message: string,
  ) {
    super(message);
    this.name = 'OptionError';
  }
}

interface PropertySchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly items?: PropertySchema;
  readonly description?: string;
}

/** The fields of a type's options, in schema order. */
export function optionFields(schema: unknown): OptionField[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, PropertySchema>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    description: property.description ?? '',
    required: required.includes(name),
    kind: kindOf(property),
    choices: property.enum ?? property.items?.enum ?? [],
  }));
}

function kindOf({ type, enum: choices, items }: PropertySchema): OptionField['kind'] {
  if (choices !== undefined) return 'choice';
  if (type === 'array' && items?.enum !== undefined) return 'choices';
  if (type === 'boolean') return 'boolean';
  if (type === 'integer' || type === 'number') return 'number';
  return type === 'string' ? 'text' : 'json';
}

export function textsOf(options: Readonly<Record<string, unknown>>): OptionTexts {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, textOf(value)]));
}

function textOf(value: unknown): string | string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  if (typeof value === 'string') return value;
  return JSON.stringify(value, null, 2);
}

/** The options that are set, without those that the schema does not define. Throws OptionError. */
export function optionsOf(texts: OptionTexts, schema: unknown): Record<string, unknown> {
  const given = optionFields(schema).flatMap(({ name, kind }) => {
    const text = texts[name] ?? '';
    return text.length === 0 ? [] : [[name, valueOf(name, kind, text)] as const];
  });
  return Object.fromEntries(given);
}

function valueOf(name: string, kind: OptionField['kind'], text: string | string[]): unknown {
  if (typeof text !== 'string') return text;
  if (kind === 'boolean') return text === 'true';
  if (kind === 'number') return Number(text);
  if (kind !== 'json') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new OptionError(name, 'This isn’t valid JSON');
  }
}
