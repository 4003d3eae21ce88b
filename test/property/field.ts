import fc from 'fast-check';

/** What the contract says of one value: nothing, or the code of its refusal and where inside the field it is. */
export interface Problem {
  readonly code: string;
  readonly at?: string;
}

/** One request field: values it must take, values that may be wrong, and the rule, written down from the contract. */
export interface Field {
  readonly name: string;
  readonly required?: true;
  readonly valid: fc.Arbitrary<unknown>;
  readonly odd: fc.Arbitrary<unknown>;
  /** Values on both sides of the rule, each of which is always tried. */
  readonly edges: readonly unknown[];
  /** Every problem of a value that is neither absent nor null; empty when the contract takes it. */
  judge(value: unknown): Problem[];
}

/** Fields as they are sent; a Map, because names such as `__proto__` are fields too. */
export type Fields = ReadonlyMap<string, unknown>;

/** Any UTF-16 text, halves of surrogate pairs and NUL included. */
export const anyText = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 32, max: 126 }) }, fc.integer({ min: 0, max: 0xffff })), {
    maxLength: 40,
  })
  .map((units) => String.fromCharCode(...units));

/** Texts that break naive code more often than random ones do. */
const nastyTexts = fc.constantFrom(
  ...['', ' ', 'null', 'undefined', '__proto__', 'constructor', '%00', '../../etc/passwd', "' OR 1=1 --", '${7*7}'],
  ...['\u202e', '\ufeff', '\ud800', '\udc00', '𝕏', '👩‍👩‍👧‍👦', '<script>alert(1)</script>', '\r\nx: y', 'a'.repeat(5_000)],
);

export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  nastyTexts,
  anyText,
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(0, -0, 1, -1, 1.5, 1e21, Number.MAX_SAFE_INTEGER, true, false, [], {}, [[]], [null]),
);

const notNull = anyJson.filter((value) => value !== null);

export function choice(name: string, values: readonly string[]): Field {
  const [first = ''] = values;
  const near = [`${first} `, ` ${first}`, first.toUpperCase(), `${first}\u0000`, [first], { value: first }, ''];
  return {
    name,
    valid: fc.constantFrom(...values),
    odd: fc.oneof(fc.constantFrom<unknown>(...near), notNull),
    edges: [...values, ...near],
    judge: (value) => {
      if (typeof value !== 'string') return [{ code: 'invalid_type' }];
      return values.includes(value) ? [] : [{ code: 'invalid_value' }];
    },
  };
}

export function integer(name: string, min: number, max: number): Field {
  const edges = [min - 1, min, max, max + 1, min + 0.5, `${min}`, `${max}`, [min], true, 1e300, -1e300];
  return {
    name,
    valid: fc.integer({ min, max }),
    odd: fc.oneof(
      fc.constantFrom<unknown>(...edges),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      notNull,
    ),
    edges,
    judge: (value) => {
      if (!Number.isInteger(value)) return [{ code: 'invalid_type' }];
      if ((value as number) < min) return [{ code: 'integer_below_min_value' }];
      return (value as number) > max ? [{ code: 'integer_above_max_value' }] : [];
    },
  };
}

export function flag(name: string): Field {
  return {
    name,
    valid: fc.boolean(),
    odd: fc.oneof(fc.constantFrom<unknown>('true', 'false', 0, 1, ''), notNull),
    edges: [true, false, 'true', 0, 1],
    judge: (value) => (typeof value === 'boolean' ? [] : [{ code: 'invalid_type' }]),
  };
}

/** A text of `min` to `max` code points. NUL is refused: no database holds it. */
export function text(name: string, min: number, max: number): Field {
  const long = fc.tuple(fc.constantFrom('a', 'é', '字', '𝕏'), fc.constantFrom(max - 1, max, max + 1, 2 * max + 1));
  return {
    name,
    valid: anyText.filter((value) => value.length >= min && !value.includes('\u0000')),
    odd: fc.oneof(
      notNull,
      long.map(([letter, count]) => letter.repeat(count)),
      fc.constantFrom('', 'a\u0000b'),
    ),
    edges: [max, max + 1, min, 2 * max + 1].flatMap((count) => ['a'.repeat(count), '𝕏'.repeat(count)]),
    judge: (value) => {
      if (typeof value !== 'string') return [{ code: 'invalid_type' }];
      const points = Array.from(value).length;
      if (points > max) return [{ code: 'string_above_max_length' }];
      return points < min || value.includes('\u0000') ? [{ code: 'invalid_value' }] : [];
    },
  };
}

/** Fields of which most requests have none wrong, some one, and few several. */
export function fieldsOf(fields: readonly Field[]): fc.Arbitrary<Fields> {
  const nothing = Symbol('absent');
  const drawn = fields.map(({ required, valid, odd }) =>
    fc.oneof(
      { weight: required ? 60 : 12, arbitrary: valid },
      { weight: required ? 1 : 18, arbitrary: fc.constant(nothing) },
      { weight: 1, arbitrary: fc.constant(null) },
      { weight: required ? 4 : 1, arbitrary: odd },
    ),
  );
  return fc
    .tuple(...drawn)
    .map((values) => new Map(fields.map(({ name }, at) => [name, values[at]])))
    .map((sent) => new Map([...sent].filter(([, value]) => value !== nothing)));
}

/** Every code and param with which these fields may be refused; empty when they must be taken. */
export function problemsOf(fields: readonly Field[], sent: Fields): string[] {
  return fields.flatMap(({ name, required, judge }) => {
    const value = sent.get(name) ?? undefined;
    if (value === undefined) return required ? [problem('missing_required_parameter', name)] : [];
    return judge(value).map(({ code, at = '' }) => problem(code, name + at));
  });
}

export function problem(code: string, param: string): string {
  return `${code} at ${param}`;
}

/** JSON with these fields, `__proto__` among them if it must be. */
export function jsonOf(sent: Fields): string {
  const members = [...sent].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${members.join(',')}}`;
}
