import { BATCH_ENDPOINTS, type BatchEndpoint } from '#batches/batch.js';
import { ChoiceField, ObjectField, TextField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';

const MAX_PAIRS = 16;
const MAX_NAME = 64;
const MAX_VALUE = 512;

/** The body of POST /v1/batches. */
export class BatchBody {
  @TextField({ notEmpty: true, maxLength: 64, description: 'ID of a file with purpose `batch`.' })
  readonly input_file_id!: string;

  @ChoiceField(BATCH_ENDPOINTS, { description: 'The `url` of every line.' })
  readonly endpoint!: BatchEndpoint;

  @ChoiceField(['24h'])
  readonly completion_window!: '24h';

  @ObjectField({ optional: true, rule: metadataProblem, description: 'Up to 16 texts of your own.' })
  readonly metadata?: Readonly<Record<string, string>> | null;

  @ObjectField({
    optional: true,
    description:
      '`{"anchor": "created_at", "seconds": 3600..2592000}`: how long the results are kept. Default: 30 days.',
  })
  readonly output_expires_after?: object | null;
}

function metadataProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const pairs = Object.entries(value);
  const fits = ([key, text]: [string, unknown]): boolean =>
    key.length <= MAX_NAME && typeof text === 'string' && text.length <= MAX_VALUE;
  if (pairs.length <= MAX_PAIRS && pairs.every(fits)) return undefined;
  const what = `at most ${MAX_PAIRS} texts of ${MAX_VALUE} characters with names of ${MAX_NAME}`;
  return { code: 'invalid_value', message: `${name} must have ${what}` };
}
