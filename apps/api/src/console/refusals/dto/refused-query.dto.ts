import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { REFUSED_CALLS_DAYS } from '#accounts/refused-calls.repository.js';
import { Integer } from '#contract/field.js';
import { KnownFiltersOnly, NormalizedBy } from '../../../common/contract-fields.js';
import { orInteger, QueryChoice, QueryText } from '../../../common/query-fields.js';

const DEFAULT_HOURS = 24;
const MAX_HOURS = 24 * REFUSED_CALLS_DAYS;

/** Documents the parameters of RefusedCallsQuery. */
export const ApiRefusedQuery = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({
      name: 'hours',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: MAX_HOURS, default: DEFAULT_HOURS },
    }),
    ApiQuery({ name: 'key', required: false, description: 'ID of a key.', schema: { type: 'string' } }),
    ApiQuery({ name: 'code', required: false, description: 'An error code.', schema: { type: 'string' } }),
    ApiQuery({
      name: 'installation',
      required: false,
      description: 'Calls of all accounts, and those without a valid key; for operators.',
      schema: { type: 'string', enum: ['true', 'false'] },
    }),
  );

/** Which refused calls: of the last hours, until now. */
@KnownFiltersOnly()
export class RefusedCallsQuery {
  @NormalizedBy(orInteger)
  @Integer({ min: 1, max: MAX_HOURS })
  readonly hours: number = DEFAULT_HOURS;

  @QueryText()
  readonly key?: string;

  @QueryText()
  readonly code?: string;

  @QueryChoice(['true', 'false'])
  readonly installation?: 'true' | 'false';
}
