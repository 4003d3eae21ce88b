import type { Model } from '../../api/types.ts';

/** A field that only some models have, as the API describes it, with its name. */
export interface ExtraChoice {
  readonly name: string;
  readonly type: 'integer' | 'number' | 'string' | 'boolean';
  readonly min?: number;
  readonly max?: number;
  readonly enum?: readonly string[];
  readonly max_length?: number;
}

/** The texts of the form, by the names of their fields; empty or absent: the provider decides. */
export type ExtraTexts = Readonly<Record<string, string>>;

/** The extra fields of a model. */
export function extraChoices(model: Model | undefined): ExtraChoice[] {
  const fields = (model?.capabilities.extra ?? {}) as Readonly<Record<string, Omit<ExtraChoice, 'name'>>>;
  return Object.entries(fields).map(([name, field]) => ({ ...field, name }));
}

/** The texts of the fields that the model has, without those that it does not offer. */
export function fittedExtra(texts: ExtraTexts, choices: readonly ExtraChoice[]): ExtraTexts {
  const fitted = choices.flatMap((choice) => {
    const text = texts[choice.name] ?? '';
    return text !== '' && isOffered(choice, text) ? [[choice.name, text] as const] : [];
  });
  return Object.fromEntries(fitted);
}

function isOffered({ type, min, max, enum: texts, max_length: length = Infinity }: ExtraChoice, text: string): boolean {
  if (type === 'boolean') return text === 'true' || text === 'false';
  if (type === 'string') return (texts?.includes(text) ?? true) && text.length <= length;
  const number = Number(text);
  if (type === 'integer' && !Number.isInteger(number)) return false;
  return number >= (min ?? -Infinity) && number <= (max ?? Infinity);
}

/** The values of fitted texts, for an order. */
export function extraValues(
  texts: ExtraTexts,
  choices: readonly ExtraChoice[],
): Record<string, string | number | boolean> {
  const given = choices.flatMap(({ name, type }) => {
    const text = texts[name];
    if (text === undefined) return [];
    const value = type === 'string' ? text : type === 'boolean' ? text === 'true' : Number(text);
    return [[name, value] as const];
  });
  return Object.fromEntries(given);
}
